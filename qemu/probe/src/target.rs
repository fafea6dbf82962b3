//! Where a command's connections go.

/// An IPv4 endpoint, under the name by which the command called it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Target {
    /// Address.
    pub address: [u8; 4],
    /// Port.
    pub port: u16,
}

impl Target {
    /// The local lane, on loopback.
    pub const LOCAL: Self = Self {
        address: [127, 0, 0, 1],
        port: 8_082,
    };
    /// The public lane, on the first card's own address.
    pub const PUBLIC: Self = Self {
        address: [10, 0, 2, 15],
        port: 8_080,
    };
    /// The provider lane, on the second card's own address.
    pub const PROVIDER: Self = Self {
        address: [10, 0, 3, 15],
        port: 8_081,
    };

    /// A lane's name or `a.b.c.d:port`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "local" => return Some(Self::LOCAL),
            "public" => return Some(Self::PUBLIC),
            "provider" => return Some(Self::PROVIDER),
            _ => {}
        }
        let (host, port) = text.split_once(':')?;
        let mut address = [0; 4];
        let mut parts = host.split('.');
        for place in &mut address {
            *place = parts.next()?.parse().ok()?;
        }
        if parts.next().is_some() {
            return None;
        }
        Some(Self {
            address,
            port: port.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_read() {
        assert_eq!(Target::parse("local"), Some(Target::LOCAL));
        assert_eq!(Target::parse("10.0.3.15:8081"), Some(Target::PROVIDER));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "admin",
            "1.2.3:4",
            "1.2.3.4",
            "1.2.3.4.5:6",
            "1.2.3.256:1",
            "1.2.3.4:65536",
        ] {
            assert_eq!(Target::parse(text), None, "{text}");
        }
    }
}
