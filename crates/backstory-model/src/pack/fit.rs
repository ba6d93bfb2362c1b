//! Fits a context pack into a token budget.
//!
//! Every section first gets its share, in the order of [`Section::ALL`], then the rest is distributed in rounds. Texts
//! are cut after lines and sentences; passages are kept whole or dropped. What is printed is counted as a whole at the
//! end, and the last entries are dropped until it fits.

use std::collections::BTreeMap;

use super::{
    Chunk, ContextPack, Format, HashedEntry, Section, clip, compare_chunks, entry::Entry, render, render::entry,
};

/// The budget that the limits below are for; those of another grow and shrink with it.
const USUAL: usize = 4000;
/// Tokens of the summary.
const SUMMARY: usize = 200;
/// Share of the budget, as a divisor, that the question may take where it is repeated, and each sentence on what is
/// missing.
const ECHO_SHARE: usize = 10;
/// Share of the budget, as a divisor, that a manifest without its items may take to be printed.
const MANIFEST_SHARE: usize = 6;
/// Tokens that joining entries may cost beyond their own.
const JOINT: usize = 2;
/// Tokens that stand before the first entry of a section.
const HEADING: usize = 8;
/// Less room than any entry takes.
const LEAST: usize = 10;
/// How often room that is left is given away again.
const TOP_UPS: usize = 3;

/// What a section may take.
struct Share {
    section: Section,
    /// Tokens of the first round.
    tokens: usize,
    /// Tokens of the text of an entry.
    text: usize,
    /// Most entries.
    entries: usize,
}

const fn share(section: Section, tokens: usize, text: usize, entries: usize) -> Share {
    Share { section, tokens, text, entries }
}

/// In the order in which they are served.
const SHARES: [Share; 7] = [
    share(Section::KeyItems, 700, 80, 5),
    share(Section::Timeline, 400, 50, 30),
    share(Section::DesignNotes, 500, 100, 20),
    share(Section::CodeContext, 600, 250, 20),
    share(Section::ImportantDiffs, 600, 350, 20),
    share(Section::RelatedTests, 150, 100, 20),
    share(Section::Retrieved, 900, usize::MAX, 50),
];

/// An entry that has a place.
struct Placed {
    section: Section,
    /// Its number in its section.
    number: usize,
    cost: usize,
    entry: Entry,
}

/// The pack that fits: `all` holds every entry of every section, the best ones first, and a manifest without items,
/// chunks and counts. What is printed has at most `budget` tokens as `count` tells. The same input gives the same pack.
pub fn fit_to_budget(mut all: ContextPack, budget: usize, count: &dyn Fn(&str) -> usize) -> ContextPack {
    let mut offers = take_entries(&mut all);
    let found: BTreeMap<Section, usize> = offers.iter().map(|of| (of.section, of.list.len())).collect();
    let mut base = frame(all, budget, count);
    let used = count(&render(&base));
    let mut placed = Vec::new();
    place(&base, &mut offers, &mut placed, budget.saturating_sub(used), budget, count);
    // What entries cost is estimated: what is left in truth goes round again.
    for _ in 0..TOP_UPS {
        let left = budget.saturating_sub(assemble(&base, &placed, &found, count).metadata.token_count);
        let before = placed.len();
        place(&base, &mut offers, &mut placed, left, budget, count);
        if placed.len() == before {
            break;
        }
    }
    loop {
        let pack = assemble(&base, &placed, &found, count);
        let tokens = pack.metadata.token_count;
        if tokens <= budget {
            // Where the best item has no place, nothing else is told in its stead.
            let waits = |of: &Offers| of.section == Section::KeyItems && of.list.first().is_some_and(Option::is_some);
            if !placed.is_empty() {
                offers.retain(waits);
            }
            return trimmed(&base, offers, &found, budget, count).unwrap_or(pack);
        }
        let mut excess = tokens - budget;
        if placed.is_empty() && !shrink(&mut base, count) {
            return pack;
        }
        while let (Some(last), true) = (placed.last(), excess > 0) {
            excess = excess.saturating_sub(last.cost.max(1));
            if let Some(Placed { section, number, cost, entry }) = placed.pop()
                && let Some(of) = offers.iter_mut().find(|of| of.section == section)
            {
                of.list[number] = Some(Offer { entry, cost: Some(cost) });
            }
        }
    }
}

/// Where no entry, or not the best item, found room: the best one, of the first section that has any which fits, cut as
/// far as need be, with less of a summary if that makes the room.
fn trimmed(
    base: &ContextPack,
    offers: Vec<Offers>,
    found: &BTreeMap<Section, usize>,
    budget: usize,
    count: &dyn Fn(&str) -> usize,
) -> Option<ContextPack> {
    let summary = count(&base.summary);
    let bests: Vec<(Section, Entry)> =
        offers.into_iter().filter_map(|of| Some((of.section, of.list.into_iter().next()??.entry))).collect();
    for (section, best) in &bests {
        for share_of_summary in [1, 2, 4, 8] {
            let base = ContextPack { summary: clip(&base.summary, summary / share_of_summary, count), ..base.clone() };
            for entry in best.shorter(count) {
                if entry.is_hollow() {
                    continue;
                }
                let placed = [Placed { section: *section, number: 0, cost: 0, entry }];
                let pack = assemble(&base, &placed, found, count);
                if pack.metadata.token_count <= budget {
                    return Some(pack);
                }
            }
        }
    }
    None
}

/// An entry without a place, and what it costs, once that is known.
struct Offer {
    entry: Entry,
    cost: Option<usize>,
}

/// The entries of a section; `None` for those that have a place.
struct Offers {
    section: Section,
    list: Vec<Option<Offer>>,
}

/// Takes the entries out of a pack.
fn take_entries(all: &mut ContextPack) -> Vec<Offers> {
    fn of<T>(section: Section, list: &mut Vec<T>, entry: fn(T) -> Entry) -> Offers {
        let offer = |of| Some(Offer { entry: entry(of), cost: None });
        Offers { section, list: std::mem::take(list).into_iter().map(offer).collect() }
    }
    vec![
        of(Section::KeyItems, &mut all.key_items, Entry::KeyItem),
        of(Section::Timeline, &mut all.timeline, Entry::Timeline),
        of(Section::DesignNotes, &mut all.design_notes, Entry::DesignNote),
        of(Section::CodeContext, &mut all.code_context, Entry::Code),
        of(Section::ImportantDiffs, &mut all.important_diffs, Entry::Diff),
        of(Section::RelatedTests, &mut all.related_tests, Entry::Test),
        of(Section::Retrieved, &mut all.retrieved, Entry::Chunk),
    ]
}

/// What is there without any entry.
fn frame(mut pack: ContextPack, budget: usize, count: &dyn Fn(&str) -> usize) -> ContextPack {
    let echo = budget / ECHO_SHARE;
    pack.metadata.query = clip(&pack.metadata.query, echo, count);
    pack.metadata.token_budget = budget;
    pack.summary = clip(&pack.summary, scaled(SUMMARY, budget).max((budget / 4).min(SUMMARY)), count);
    pack.missing = pack.missing.iter().map(|sentence| clip(sentence, echo, count)).collect();
    pack.manifest.compute_id();
    let manifest = serde_json::to_string(&pack.manifest).unwrap_or_default();
    pack.manifest.whole = pack.format == Format::Json && count(&manifest) <= budget / MANIFEST_SHARE;
    pack
}

/// A limit for the usual budget, for another one: half of it at least, and at most four times as much.
fn scaled(limit: usize, budget: usize) -> usize {
    limit.saturating_mul(budget.clamp(USUAL / 2, USUAL * 4)) / USUAL
}

/// Gives entries their places while there is room.
fn place(
    base: &ContextPack,
    offers: &mut [Offers],
    placed: &mut Vec<Placed>,
    room: usize,
    budget: usize,
    count: &dyn Fn(&str) -> usize,
) {
    let mut left = room;
    for round in 0..2 {
        for share in &SHARES {
            let Some(of) = offers.iter_mut().find(|of| of.section == share.section) else { continue };
            let before = placed.iter().filter(|known| known.section == share.section);
            let (mut entries, mut used) = (before.count(), 0);
            let own = if round == 0 { share.tokens * budget / USUAL } else { usize::MAX };
            for (number, slot) in of.list.iter_mut().enumerate() {
                if entries == share.entries || left < LEAST {
                    break;
                }
                let Some(mut offer) = slot.take() else { continue };
                let mut cost =
                    offer.cost(base, scaled(share.text, budget), count) + usize::from(entries == 0) * HEADING;
                if placed.is_empty() && cost > left {
                    cost = offer.squeeze(base, left, count);
                }
                // The first entry of a section may exceed its share, not the budget.
                let fits = cost <= left && (used == 0 || used + cost <= own);
                if offer.entry.is_hollow() || !fits {
                    *slot = Some(offer);
                    continue;
                }
                (left, used, entries) = (left - cost, used + cost, entries + 1);
                placed.push(Placed { section: share.section, number, cost, entry: offer.entry });
            }
        }
    }
}

impl Offer {
    /// Tokens that it takes once it is cut, with what it adds to sources and manifest.
    fn cost(&mut self, base: &ContextPack, room: usize, count: &dyn Fn(&str) -> usize) -> usize {
        if let Some(cost) = self.cost {
            return cost;
        }
        self.entry.cut(room, count);
        let mut text = entry(base.format, &self.entry);
        let sources = self.entry.sources();
        for list in [&sources.commits, &sources.files, &sources.authors, &sources.items] {
            text.push_str(&list.join("\",\""));
        }
        if base.manifest.whole {
            for hashed in self.entry.hashed() {
                text.push_str(&serde_json::to_string(&hashed).unwrap_or_default());
            }
            if let Entry::Chunk(chunk) = &self.entry {
                let hashed = HashedEntry { id: chunk.chunk_id.clone(), content_hash: chunk.chunk_id.clone() };
                text.push_str(&serde_json::to_string(&hashed).unwrap_or_default());
            }
        }
        *self.cost.insert(count(&text) + JOINT)
    }

    /// Cuts the first entry of a pack as far as need be to fit, or not at all if it cannot; the tokens that it takes
    /// then, with those of its heading.
    fn squeeze(&mut self, base: &ContextPack, left: usize, count: &dyn Fn(&str) -> usize) -> usize {
        for entry in self.entry.shorter(count) {
            let mut offer = Self { entry, cost: None };
            let cost = offer.cost(base, usize::MAX, count) + HEADING;
            if cost <= left && !offer.entry.is_hollow() {
                *self = offer;
                return cost;
            }
        }
        usize::MAX
    }
}

/// The pack with these entries, counted.
fn assemble(
    base: &ContextPack,
    placed: &[Placed],
    found: &BTreeMap<Section, usize>,
    count: &dyn Fn(&str) -> usize,
) -> ContextPack {
    let mut pack = base.clone();
    let mut order: Vec<&Placed> = placed.iter().collect();
    order.sort_by_key(|of| (of.section, of.number));
    for of in order {
        pack.provenance.add(of.entry.sources());
        pack.manifest.items.extend(of.entry.hashed());
        *pack.manifest.counts.entry(of.section).or_default() += 1;
        of.entry.copy().put(&mut pack);
    }
    pack.timeline.sort_by(|a, b| a.date.cmp(&b.date));
    pack.retrieved.sort_by(compare_chunks);
    let chunk = |of: &Chunk| HashedEntry { id: of.chunk_id.clone(), content_hash: of.reference().text_hash };
    pack.manifest.chunks = pack.retrieved.iter().map(chunk).collect();
    pack.manifest.items.retain(|item| !item.content_hash.is_empty());
    pack.manifest.items.sort();
    pack.manifest.items.dedup();
    let left = |(section, count): (&Section, &usize)| {
        let shown = pack.manifest.counts.get(section).copied().unwrap_or(0);
        (*count > shown).then(|| (*section, count - shown))
    };
    pack.left_out = found.iter().filter_map(left).collect();
    pack.manifest.compute_id();
    count_tokens(&mut pack, count);
    pack
}

/// The pack says how many tokens it has, in which the number itself counts: it converges in a few steps.
fn count_tokens(pack: &mut ContextPack, count: &dyn Fn(&str) -> usize) {
    for _ in 0..4 {
        // A line feed is printed behind it.
        let tokens = count(&(render(pack) + "\n"));
        if std::mem::replace(&mut pack.metadata.token_count, tokens) == tokens {
            break;
        }
    }
}

/// Takes away what can be missed most of what is there without entries; says whether there was anything.
fn shrink(base: &mut ContextPack, count: &dyn Fn(&str) -> usize) -> bool {
    let shorter = |text: &str| clip(text, count(text) * 2 / 3, count);
    if std::mem::take(&mut base.manifest.whole) || base.missing.pop().is_some() {
        return true;
    }
    if !base.summary.is_empty() {
        base.summary = shorter(&base.summary);
        return true;
    }
    if !base.metadata.query.is_empty() {
        base.metadata.query = shorter(&base.metadata.query);
        return true;
    }
    base.metadata.repository.take().is_some()
}

#[cfg(test)]
mod tests;
