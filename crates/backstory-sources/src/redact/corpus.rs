//! Measures how many planted secrets are found, and how many other texts are treated as one. The secrets follow the
//! descriptions of those who issue them, and not the rules.

mod draw;
mod look_alikes;
mod secrets;
mod texts;

use std::collections::BTreeMap;

use fastrand::Rng;

use super::*;

/// Of each kind, so many secrets in so many texts.
const OF_A_KIND: usize = 12;
const LOOK_ALIKES_OF_A_KIND: usize = 60;

/// Found and missed of one kind, or texts and false findings.
#[derive(Default)]
struct Score {
    of: usize,
    hits: usize,
    shown: Option<String>,
}

/// Texts with the kind and the secret of each.
fn planted() -> Vec<(&'static str, String, String)> {
    let mut random = Rng::with_seed(20_261_122);
    let mut all = Vec::new();
    for kind in &secrets::KINDS {
        for at in 0..OF_A_KIND {
            let secret = (kind.make)(&mut random);
            let setting = kind.settings[random.usize(..kind.settings.len())];
            let text = if kind.is_known_anywhere && at % 2 == 0 {
                texts::anywhere(&mut random, &secret)
            } else {
                texts::assigned(&mut random, setting, &secret)
            };
            all.push((kind.name, text, secret));
        }
    }
    for _ in 0..OF_A_KIND {
        all.extend(texts::surrounded(&mut random));
    }
    all
}

#[test]
#[allow(clippy::print_stdout, reason = "what was found of each kind is worth seeing")]
fn planted_secrets_are_found_and_look_alikes_are_left() {
    let mut random = Rng::with_seed(4_711);
    let (mut kinds, mut others): (BTreeMap<&str, Score>, BTreeMap<&str, Score>) = Default::default();
    let (mut all, mut found, mut wrong, mut texts) = (0, 0, 0, 0);
    for (kind, text, secret) in planted() {
        let (clean, redactions) = redact(&text);
        let is_found = !clean.contains(&secret);
        let score = kinds.entry(kind).or_default();
        score.of += 1;
        score.hits += usize::from(is_found);
        all += 1;
        found += usize::from(is_found);
        // What was replaced besides the secret.
        wrong += (redactions.total() as usize).saturating_sub(usize::from(is_found));
        if !is_found || redactions.total() > 1 {
            score.shown.get_or_insert(clean.into_owned());
        }
    }
    for (kind, make) in look_alikes::KINDS {
        for _ in 0..LOOK_ALIKES_OF_A_KIND {
            let text = make(&mut random);
            let (clean, redactions) = redact(&text);
            let score = others.entry(kind).or_default();
            score.of += 1;
            score.hits += redactions.total() as usize;
            wrong += redactions.total() as usize;
            texts += 1;
            if !redactions.is_empty() {
                score.shown.get_or_insert(clean.into_owned());
            }
        }
    }
    let recall = found as f64 / all as f64;
    let precision = found as f64 / (found + wrong) as f64;
    let mut report = format!("{found} of {all} secrets of {} kinds: recall {recall:.4}\n", kinds.len());
    report.push_str(&format!("{wrong} false findings, {texts} look-alikes: precision {precision:.4}\n"));
    for (kind, score) in &kinds {
        report.push_str(&format!("{:>4} of {:<4} {kind}\n", score.hits, score.of));
    }
    for (kind, score) in &others {
        report.push_str(&format!("{:>4} in {:<4} not: {kind}\n", score.hits, score.of));
    }
    for (kind, score) in kinds.iter().chain(&others) {
        if let Some(shown) = &score.shown {
            report.push_str(&format!("e.g. {kind}: {shown}\n"));
        }
    }
    println!("{report}");
    assert!(all >= 400 && kinds.len() >= 40 && texts >= 2000, "the corpus is too small");
    assert!(recall >= 0.95 && precision >= 0.90, "{report}");
}
