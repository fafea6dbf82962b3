//! What a request asks of the present state of its target, decided in the order of RFC 9110 §13.2.2.
//!
//! `If-Modified-Since`, `If-Unmodified-Since` and `If-Range` are not looked at: nothing here has a
//! modification date, and no range is served, and then they must be (§13.1.3 to §13.1.5).

use crate::http::head::{Head, list_items};
use crate::http::method::Method;

/// What a target has to be compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Representation<'a> {
    /// No representation: the target acts, or is the server itself.
    Nothing,
    /// A representation without an entity tag.
    Untagged,
    /// A representation with this strong entity tag, quotes included.
    Tagged(&'a [u8]),
}

/// What the preconditions of a request make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// It is served: they hold, or there are none.
    Holds,
    /// The client has what it would get (304).
    NotModified,
    /// The client would act on something else than is there (412).
    Failed,
}

/// How entity tags are compared (RFC 9110 §8.8.3.2).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// A weak tag is equal to none.
    Strong,
    /// A weak tag stands for its strong one.
    Weak,
}

impl Condition {
    /// Evaluates the preconditions of `head` on its target.
    #[must_use]
    pub fn evaluate(head: &Head<'_>, representation: Representation<'_>) -> Self {
        if !head.is_conditional || head.method == Some(Method::Options) {
            return Self::Holds;
        }
        let is_present = |name| head.values(name).next().is_some();
        if is_present("if-match") && !is_named(head, "if-match", representation, Comparison::Strong)
        {
            return Self::Failed;
        }
        if !is_named(head, "if-none-match", representation, Comparison::Weak) {
            return Self::Holds;
        }
        match head.method {
            Some(Method::Get | Method::Head) => Self::NotModified,
            _ => Self::Failed,
        }
    }
}

/// Whether the fields of that name, read as one list, name what is selected. `*` names anything, if it
/// is all that they say.
///
/// A comma may stand in a tag, but not in one of ours; so a list cut at every comma names ours where
/// the list as it was meant does.
fn is_named(
    head: &Head<'_>,
    name: &str,
    representation: Representation<'_>,
    comparison: Comparison,
) -> bool {
    let tags = || head.values(name).flat_map(list_items);
    match representation {
        Representation::Nothing => false,
        _ if tags().eq([b"*"]) => true,
        Representation::Untagged => false,
        Representation::Tagged(own) => tags().any(|tag| match comparison {
            Comparison::Strong => tag == own,
            Comparison::Weak => tag.strip_prefix(b"W/").unwrap_or(tag) == own,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Condition::{Failed, Holds, NotModified};

    const TAGGED: Representation<'_> = Representation::Tagged(b"\"0af1\"");

    fn evaluate(method: &str, fields: &str, representation: Representation<'_>) -> Condition {
        let target = if method == "OPTIONS" { "*" } else { "/" };
        let text = format!("{method} {target} HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        Condition::evaluate(&Head::parse(text.as_bytes()).unwrap(), representation)
    }

    #[test]
    fn tags_are_compared_strongly_to_match_and_weakly_to_match_none() {
        for (tags, to_match, to_match_none) in [
            ("\"0af1\"", Holds, NotModified),
            ("*", Holds, NotModified),
            (" \"x\" ,\t\"0af1\",, \"y\"", Holds, NotModified),
            ("\"a,b\", \"0af1\"", Holds, NotModified),
            ("W/\"0af1\"", Failed, NotModified),
            ("w/\"0af1\"", Failed, Holds),
            ("\"0AF1\"", Failed, Holds),
            ("0af1", Failed, Holds),
            ("\"0af1", Failed, Holds),
            ("\"x\"", Failed, Holds),
            ("\"x\", *", Failed, Holds),
            ("**", Failed, Holds),
            ("", Failed, Holds),
            (",", Failed, Holds),
        ] {
            let field = format!("If-Match: {tags}\r\n");
            assert_eq!(evaluate("GET", &field, TAGGED), to_match, "{tags}");
            let field = format!("If-None-Match: {tags}\r\n");
            assert_eq!(evaluate("GET", &field, TAGGED), to_match_none, "{tags}");
            assert_eq!(evaluate("HEAD", &field, TAGGED), to_match_none, "{tags}");
        }
    }

    #[test]
    fn several_fields_are_one_list() {
        for (fields, expected) in [
            (
                "If-None-Match: \"x\"\r\nA: b\r\nif-none-match: \"0af1\"\r\n",
                NotModified,
            ),
            ("If-None-Match: \"x\"\r\nIf-None-Match: \"y\"\r\n", Holds),
            ("If-None-Match: *\r\nIf-None-Match: \"x\"\r\n", Holds),
            ("If-Match: \"x\"\r\nIF-MATCH: \"0af1\"\r\n", Holds),
        ] {
            assert_eq!(evaluate("GET", fields, TAGGED), expected, "{fields}");
        }
    }

    #[test]
    fn to_match_comes_before_to_match_none_and_dates_do_not_count() {
        const AGO: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (fields, expected) in [
            (
                "If-Match: \"x\"\r\nIf-None-Match: \"0af1\"\r\n".into(),
                Failed,
            ),
            (
                "If-None-Match: \"0af1\"\r\nIf-Match: \"0af1\"\r\n".into(),
                NotModified,
            ),
            (format!("If-Modified-Since: {AGO}\r\n"), Holds),
            (format!("If-Unmodified-Since: {AGO}\r\n"), Holds),
            (
                format!("If-Modified-Since: {AGO}\r\nIf-None-Match: \"0af1\"\r\n"),
                NotModified,
            ),
            ("If-Range: \"0af1\"\r\nRange: bytes=0-0\r\n".into(), Holds),
        ] {
            assert_eq!(evaluate("GET", &fields, TAGGED), expected, "{fields}");
        }
    }

    #[test]
    fn what_has_no_tag_is_named_by_the_asterisk_alone_and_what_is_not_there_by_nothing() {
        for (method, field, representation, expected) in [
            ("GET", "If-Match: *", Representation::Untagged, Holds),
            ("GET", "If-Match: \"x\"", Representation::Untagged, Failed),
            (
                "GET",
                "If-None-Match: *",
                Representation::Untagged,
                NotModified,
            ),
            (
                "GET",
                "If-None-Match: \"\"",
                Representation::Untagged,
                Holds,
            ),
            ("POST", "If-Match: *", Representation::Nothing, Failed),
            ("POST", "If-None-Match: *", Representation::Nothing, Holds),
            ("POST", "If-None-Match: *", TAGGED, Failed),
            ("OPTIONS", "If-Match: \"x\"", Representation::Nothing, Holds),
        ] {
            let field = format!("{field}\r\n");
            assert_eq!(
                evaluate(method, &field, representation),
                expected,
                "{method} {field}"
            );
        }
    }
}
