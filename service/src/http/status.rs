//! The statuses that this service sends, and their counters.

/// Declares the statuses once: variant, number, reason phrase.
macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $code:literal $reason:literal;)*) => {
        /// A response status that this service can send.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Status { $($(#[$doc])* $name,)* }

        impl Status {
            /// All of them, ascending by number.
            pub const ALL: [Self; [$($code),*].len()] = [$(Self::$name),*];

            /// The number in the status line.
            #[must_use]
            pub const fn code(self) -> u16 { match self { $(Self::$name => $code,)* } }

            /// Number and reason phrase, as they stand in the status line.
            #[must_use]
            pub const fn line(self) -> &'static str {
                match self { $(Self::$name => concat!($code, " ", $reason),)* }
            }

            /// The reason phrase.
            #[must_use]
            pub const fn reason(self) -> &'static str { match self { $(Self::$name => $reason,)* } }

            /// The status with this number, if this service sends it.
            #[must_use]
            pub const fn from_code(code: u16) -> Option<Self> {
                match code { $($code => Some(Self::$name),)* _ => None }
            }
        }
    };
}

statuses! {
    /// 101
    SwitchingProtocols = 101 "Switching Protocols";
    /// 200
    Ok = 200 "OK";
    /// 202
    Accepted = 202 "Accepted";
    /// 204
    NoContent = 204 "No Content";
    /// 304
    NotModified = 304 "Not Modified";
    /// 400
    BadRequest = 400 "Bad Request";
    /// 403
    Forbidden = 403 "Forbidden";
    /// 404
    NotFound = 404 "Not Found";
    /// 405
    MethodNotAllowed = 405 "Method Not Allowed";
    /// 408
    RequestTimeout = 408 "Request Timeout";
    /// 412
    PreconditionFailed = 412 "Precondition Failed";
    /// 413
    ContentTooLarge = 413 "Content Too Large";
    /// 414
    UriTooLong = 414 "URI Too Long";
    /// 417
    ExpectationFailed = 417 "Expectation Failed";
    /// 429
    TooManyRequests = 429 "Too Many Requests";
    /// 431
    HeaderFieldsTooLarge = 431 "Request Header Fields Too Large";
    /// 501
    NotImplemented = 501 "Not Implemented";
    /// 503
    ServiceUnavailable = 503 "Service Unavailable";
    /// 505
    VersionNotSupported = 505 "HTTP Version Not Supported";
}

/// How many responses were begun with each status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusCounters([u64; Status::ALL.len()]);

impl StatusCounters {
    /// All zero.
    #[must_use]
    pub const fn new() -> Self {
        Self([0; Status::ALL.len()])
    }

    /// Counts one response.
    pub fn count(&mut self, status: Status) {
        if let Some(counter) = self.0.get_mut(status as usize) {
            *counter = counter.saturating_add(1);
        }
    }

    /// Responses with exactly this status.
    #[must_use]
    pub fn of(&self, status: Status) -> u64 {
        self.0.get(status as usize).copied().unwrap_or(0)
    }

    /// Responses whose status is `class`xx.
    #[must_use]
    pub fn of_class(&self, class: u16) -> u64 {
        Status::ALL
            .iter()
            .filter(|status| status.code() / 100 == class)
            .fold(0, |sum: u64, status| sum.saturating_add(self.of(*status)))
    }
}

impl Default for StatusCounters {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_ascend_and_map_back() {
        assert!(
            Status::ALL
                .windows(2)
                .all(|pair| pair[0].code() < pair[1].code())
        );
        for status in Status::ALL {
            assert_eq!(Status::from_code(status.code()), Some(status));
            assert_eq!(
                status.line(),
                format!("{} {}", status.code(), status.reason())
            );
        }
    }

    #[test]
    fn counters_sum_by_class() {
        let mut counters = StatusCounters::new();
        for status in [Status::Ok, Status::Ok, Status::NotFound, Status::Forbidden] {
            counters.count(status);
        }
        assert_eq!(
            (
                counters.of(Status::Ok),
                counters.of_class(2),
                counters.of_class(4)
            ),
            (2, 2, 2)
        );
    }
}
