//! The files of the web UI, compiled in; each with an entity tag computed at compile time.

/// How long a client may use a file without asking again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Ask every time (the entity tag makes that cheap).
    Revalidate,
    /// An hour.
    Hour,
}

impl Freshness {
    /// The value of `Cache-Control`.
    #[must_use]
    pub const fn cache_control(self) -> &'static str {
        match self {
            Self::Revalidate => "no-cache",
            Self::Hour => "public, max-age=3600",
        }
    }
}

/// One file.
#[derive(Debug, PartialEq, Eq)]
pub struct Asset {
    /// Its bytes, in read-only data; never copied as a whole.
    pub content: &'static [u8],
    /// Its media type.
    pub media_type: &'static str,
    /// Its entity tag, quotes included.
    pub etag: [u8; 18],
    /// How long it may be used.
    pub freshness: Freshness,
}

impl Asset {
    const fn new(content: &'static [u8], media_type: &'static str, freshness: Freshness) -> Self {
        Self {
            content,
            media_type,
            etag: etag(content),
            freshness,
        }
    }

    /// Whether the file is a page, which needs the headers that confine pages.
    #[must_use]
    pub fn is_page(&self) -> bool {
        self.media_type.starts_with("text/html") || self.media_type.starts_with("image/svg")
    }
}

/// The 64-bit FNV-1a hash of `content` in quotes.
const fn etag(content: &[u8]) -> [u8; 18] {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut rest = content;
    while let [byte, tail @ ..] = rest {
        hash = (hash ^ *byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
        rest = tail;
    }
    let mut tag = [b'"'; 18];
    let (_, mut digits) = tag.split_at_mut(1);
    let mut shift: u32 = 64;
    while let [digit, tail @ ..] = digits {
        if shift == 0 {
            break;
        }
        shift = shift.saturating_sub(4);
        *digit = hex_digit(((hash >> shift) & 0xf).to_le_bytes());
        digits = tail;
    }
    tag
}

const fn hex_digit([value, ..]: [u8; 8]) -> u8 {
    if value < 10 {
        b'0'.saturating_add(value)
    } else {
        b'a'.saturating_add(value).saturating_sub(10)
    }
}

/// The landing page.
pub static INDEX: Asset = Asset::new(
    include_bytes!("../../assets/index.html"),
    "text/html; charset=utf-8",
    Freshness::Revalidate,
);
/// Its style.
pub static STYLE: Asset = Asset::new(
    include_bytes!("../../assets/style.css"),
    "text/css; charset=utf-8",
    Freshness::Revalidate,
);
/// Its script.
pub static SCRIPT: Asset = Asset::new(
    include_bytes!("../../assets/app.js"),
    "text/javascript; charset=utf-8",
    Freshness::Revalidate,
);
/// Its icon.
pub static ICON: Asset = Asset::new(
    include_bytes!("../../assets/icon.svg"),
    "image/svg+xml",
    Freshness::Hour,
);
/// What crawlers are told.
pub static ROBOTS: Asset = Asset::new(
    include_bytes!("../../assets/robots.txt"),
    "text/plain; charset=utf-8",
    Freshness::Hour,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etags_are_quoted_hashes_of_the_content() {
        assert_eq!(&etag(b""), b"\"cbf29ce484222325\"");
        assert_eq!(&etag(b"a"), b"\"af63dc4c8601ec8c\"");
        assert_ne!(INDEX.etag, STYLE.etag);
    }

    #[test]
    fn pages_load_nothing_from_elsewhere() {
        for asset in [&INDEX, &STYLE, &SCRIPT] {
            let text = std::str::from_utf8(asset.content).unwrap();
            assert!(
                !text.contains("https://") && !text.contains("//cdn"),
                "{}",
                asset.media_type
            );
            assert!(
                !text.contains(" style=") && !text.contains("onclick="),
                "{}",
                asset.media_type
            );
        }
    }
}
