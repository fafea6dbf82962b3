//! ingress-ledger.
