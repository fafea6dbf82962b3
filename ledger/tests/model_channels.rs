//! Property: channels of several connections, one policy between them, do what a plain model
//! does, after every operation; every count is given back.

mod support;

use proptest::prelude::{ProptestConfig, any, proptest};
use support::channels::run;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn channels_agree_with_the_model(words in proptest::collection::vec(any::<u32>(), 1..=2_000)) {
        run(&words);
    }
}
