//! Everything that can be wrong with a request's form: one variant, one status, one explanation each.
//!
//! After any of these the connection's framing is in doubt or its work refused, so the answer is the
//! last one on that connection (INV-FRAMING).

use crate::http::status::Status;

/// Declares the faults once: variant, stable code, status, explanation.
macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident $code:literal $status:ident $explain:literal;)*) => {
        /// Why a request is refused before any route is looked at, or while its body is read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Fault { $($(#[$doc])* $name,)* }

        impl Fault {
            /// Every fault there is.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The stable word for programs, as the answer's `code`.
            #[must_use]
            pub const fn code(self) -> &'static str { match self { $(Self::$name => $code,)* } }

            /// The one status that answers it.
            #[must_use]
            pub const fn status(self) -> Status { match self { $(Self::$name => Status::$status,)* } }

            /// One sentence for people, as the answer's `detail`.
            #[must_use]
            pub const fn explain(self) -> &'static str { match self { $(Self::$name => $explain,)* } }
        }
    };
}

faults! {
    /// Not `method SP target SP version`.
    RequestLine "request_line_invalid" BadRequest "The request line is not method, target and version with one space between.";
    /// Nothing but a method, and no end of it: longer than any that is known (RFC 9112 §3).
    MethodTooLong "method_too_long" NotImplemented "The method is longer than any that is known here.";
    /// More empty lines before the request line than a client sends by mistake.
    EmptyLines "empty_lines" BadRequest "Too many empty lines come before the request line.";
    /// A line feed without its carriage return.
    BareLineFeed "bare_lf" BadRequest "A line ends with LF alone; lines end with CRLF.";
    /// A carriage return without its line feed.
    BareCarriageReturn "bare_cr" BadRequest "A CR is not followed by LF.";
    /// NUL or another control byte.
    ControlByte "control_byte" BadRequest "The head holds a control byte.";
    /// A header line that begins with white space: obsolete folding.
    FoldedHeader "folded_header" BadRequest "A header line begins with white space (obsolete line folding).";
    /// A field name that is no token, white space before the colon included.
    HeaderName "header_name_invalid" BadRequest "A header field name is not a token directly followed by a colon.";
    /// A field value with bytes that may not stand there.
    HeaderValue "header_value_invalid" BadRequest "A header field value holds bytes that it may not.";
    /// Something of the shape `HTTP/x.y` that is not.
    Version "version_invalid" BadRequest "The protocol version is malformed.";
    /// A version that this service does not speak, HTTP/2's preface included.
    VersionUnknown "version_unknown" VersionNotSupported "Only HTTP/1.1 and HTTP/1.0 are spoken here.";
    /// A target longer than the limit.
    TargetTooLong "target_too_long" UriTooLong "The request target is longer than 8000 bytes.";
    /// A target that is none of the forms that its method may have.
    TargetForm "target_invalid" BadRequest "The request target has no valid form for this method.";
    /// A path with a dot segment, an encoded slash, or an invalid escape.
    PathUnsafe "path_unsafe" BadRequest "The path holds a dot segment, an encoded separator or an invalid escape.";
    /// A head longer than the limit.
    HeadTooLarge "head_too_large" HeaderFieldsTooLarge "The request head is larger than 8192 bytes.";
    /// More header fields than the limit.
    TooManyHeaders "too_many_headers" HeaderFieldsTooLarge "The request head has more than 128 header fields.";
    /// HTTP/1.1 without `Host`.
    HostMissing "host_missing" BadRequest "An HTTP/1.1 request needs a Host field.";
    /// More than one `Host`.
    HostRepeated "host_repeated" BadRequest "The Host field appears more than once.";
    /// A `Host` that is no host with an optional port.
    HostInvalid "host_invalid" BadRequest "The Host field is not a host with an optional port.";
    /// `Content-Length` that is no decimal number.
    LengthInvalid "content_length_invalid" BadRequest "The Content-Length is not one decimal number.";
    /// More than one `Content-Length`, equal or not.
    LengthRepeated "content_length_repeated" BadRequest "The Content-Length appears more than once.";
    /// Both ways to frame a body.
    LengthAndCoding "length_and_coding" BadRequest "A request may not have both Content-Length and Transfer-Encoding.";
    /// A `Transfer-Encoding` that is empty, repeated, or where `chunked` is not the last.
    CodingInvalid "transfer_encoding_invalid" BadRequest "The Transfer-Encoding does not end in chunked, once.";
    /// A transfer coding other than `chunked`.
    CodingUnknown "transfer_encoding_unknown" NotImplemented "Only the chunked transfer coding is supported.";
    /// `Transfer-Encoding` in HTTP/1.0, which has none.
    CodingInOldVersion "transfer_encoding_in_1_0" BadRequest "HTTP/1.0 has no Transfer-Encoding.";
    /// An expectation other than `100-continue`.
    ExpectationUnknown "expectation_unknown" ExpectationFailed "Only the expectation 100-continue can be met.";
    /// A body longer than the route takes.
    BodyTooLarge "body_too_large" ContentTooLarge "The request body is larger than this route takes.";
    /// A chunk size line or chunk end that is malformed.
    ChunkInvalid "chunk_invalid" BadRequest "The chunked body is malformed.";
    /// Chunk extensions or trailers beyond the limit.
    ChunkOverhead "chunk_overhead" BadRequest "Chunk extensions and trailers are larger than 1024 bytes.";
    /// The head did not arrive in time.
    HeadTimeout "head_timeout" RequestTimeout "The request head did not arrive in time.";
    /// The body did not arrive in time.
    BodyTimeout "body_timeout" RequestTimeout "The request body did not arrive in time.";
    /// A body that the route cannot make sense of.
    BodyInvalid "body_invalid" BadRequest "The request body is not what this route takes.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_statuses_are_errors() {
        for (place, fault) in Fault::ALL.iter().enumerate() {
            assert!(fault.status().code() >= 400);
            assert!(fault.explain().ends_with('.'));
            assert!(
                Fault::ALL[place + 1..]
                    .iter()
                    .all(|other| other.code() != fault.code())
            );
        }
    }
}
