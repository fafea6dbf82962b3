//! Request methods: those that routes may name, and the rest.

/// A method that this service can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `GET`
    Get,
    /// `HEAD`
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `DELETE`
    Delete,
    /// `PATCH`
    Patch,
    /// `OPTIONS`
    Options,
}

impl Method {
    /// Recognises a method; names are case-sensitive (RFC 9110 §9.1).
    ///
    /// `CONNECT` and `TRACE` are not recognised on purpose: no resource here will ever support them,
    /// so that they are answered 501 like any other name that means nothing to this service.
    #[must_use]
    pub fn recognise(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"GET" => Self::Get,
            b"HEAD" => Self::Head,
            b"POST" => Self::Post,
            b"PUT" => Self::Put,
            b"DELETE" => Self::Delete,
            b"PATCH" => Self::Patch,
            b"OPTIONS" => Self::Options,
            _ => return None,
        })
    }

    /// The name as it stands in a request line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Patch => "PATCH",
            Self::Options => "OPTIONS",
        }
    }
}

/// A set of methods, as a route descriptor lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Methods(u8);

impl Methods {
    /// The set of exactly these methods.
    #[must_use]
    pub const fn of(methods: &[Method]) -> Self {
        let mut bits = 0;
        let mut rest = methods;
        while let [first, tail @ ..] = rest {
            bits |= 1 << *first as u8;
            rest = tail;
        }
        Self(bits)
    }

    /// Whether `method` is one of them.
    #[must_use]
    pub const fn contains(self, method: Method) -> bool {
        self.0 & (1 << method as u8) != 0
    }

    /// The methods of either set.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The methods of the set, in the order of [`Method`].
    pub fn iter(self) -> impl Iterator<Item = Method> {
        [
            Method::Get,
            Method::Head,
            Method::Post,
            Method::Put,
            Method::Delete,
            Method::Patch,
            Method::Options,
        ]
        .into_iter()
        .filter(move |method| self.contains(*method))
    }
}

/// Whether `byte` may stand in a token (RFC 9110 §5.6.2).
#[must_use]
pub const fn is_token_byte(byte: u8) -> bool {
    matches!(byte,
        b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`'
        | b'|' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_recognised_by_exact_name_only() {
        for method in Methods(0x7f).iter() {
            assert_eq!(Method::recognise(method.name().as_bytes()), Some(method));
        }
        for name in [
            "get", "Get", "GETT", "GE", "", "CONNECT", "TRACE", "PRI", "BREW",
        ] {
            assert_eq!(Method::recognise(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn a_set_holds_what_it_was_made_of() {
        let set = Methods::of(&[Method::Get, Method::Post]);
        assert!(set.contains(Method::Get) && set.contains(Method::Post));
        assert!(!set.contains(Method::Head) && !set.contains(Method::Options));
        assert_eq!(set.iter().count(), 2);
    }
}
