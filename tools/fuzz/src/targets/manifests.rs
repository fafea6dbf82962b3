//! Boot manifests: text is read, judged and exported, or refused in words that name the file.

use std::path::Path;

use mkmanifest::{LaneRules, check_manifest, export, parse, policy};

/// The bytes are the file.
pub(super) fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    let judged = parse(Path::new("x.toml"), text).and_then(|manifest| {
        check_manifest(&manifest, LaneRules::Unchecked)?;
        check_manifest(&manifest, LaneRules::Checked)?;
        policy(&manifest)?;
        let exported = export(&manifest, None)?;
        assert!(exported.starts_with('{'));
        Ok(())
    });
    if let Err(refusal) = judged {
        let refusal = refusal.to_string();
        assert!(refusal.starts_with("x.toml:"), "{refusal}");
    }
}
