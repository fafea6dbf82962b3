//! ingress-schema.
