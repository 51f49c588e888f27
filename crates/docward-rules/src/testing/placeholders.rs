//! Placeholders of repeated lines: running numbers, ids, lists and padding.

/// Fills the placeholders of repeated documents.
#[derive(Default)]
pub(super) struct Counter {
    pub(super) i: u64,
}

impl Counter {
    pub(super) fn fill(&mut self, text: &str) -> String {
        let i = self.i;
        self.i += 1;
        let mut out = self.arrays(text, i);
        out = Self::pads(&out, i);
        let seconds = 1_600_000_000 + i * 86_400;
        out = out.replace("$oid", &format!("{seconds:08x}{:016x}", i * 7919 + 1));
        let mix = |n: u64| {
            n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
                .wrapping_mul(0xd6e8_feb8_6659_fd93)
        };
        let (a, b) = (mix(i + 1), mix(i + 77));
        let uuid = format!(
            "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            b >> 52,
            b & 0xffff_ffff_ffff
        );
        out = out.replace("$uuid", &uuid);
        running_number(&out, i)
    }

    /// `$array(N, VALUE)`: N copies with `$j` filled in.
    fn arrays(&self, text: &str, i: u64) -> String {
        let Some(start) = text.find("$array(") else { return text.to_owned() };
        let mut depth = 0;
        let mut quoted = false;
        let end = text[start + 6..]
            .char_indices()
            .find_map(|(at, c)| {
                match c {
                    '"' => quoted = !quoted,
                    '(' | '{' | '[' if !quoted => depth += 1,
                    ')' | '}' | ']' if !quoted => depth -= 1,
                    _ => {}
                }
                (depth == 0 && !quoted).then_some(start + 6 + at)
            })
            .expect("$array( is closed");
        let (times, value) = text[start + 7..end].split_once(',').expect("$array(N, VALUE)");
        let items: Vec<String> =
            (0..number(times, i)).map(|j| value.trim().replace("$j", &j.to_string())).collect();
        let filled = format!("{}[{}]{}", &text[..start], items.join(","), &text[end + 1..]);
        self.arrays(&filled, i)
    }

    /// `$pad(N)`: N letters.
    fn pads(text: &str, i: u64) -> String {
        let Some(start) = text.find("$pad(") else { return text.to_owned() };
        let end = start + text[start..].find(')').expect("$pad( is closed");
        let n = number(&text[start + 5..end], i) as usize;
        let words = "the quick brown fox jumps over the lazy dog ".repeat(n / 44 + 1);
        Self::pads(&format!("{}{}{}", &text[..start], &words[..n], &text[end + 1..]), i)
    }
}

/// `$i` as the running number, but not in `$inc` and `$in`.
fn running_number(text: &str, i: u64) -> String {
    let mut parts = text.split("$i");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if part.starts_with('n') {
            out.push_str("$i");
        } else {
            out.push_str(&i.to_string());
        }
        out.push_str(part);
    }
    out
}

/// `5`, `$i`, `$i*3`, `$i+2`.
fn number(text: &str, i: u64) -> u64 {
    let text = text.trim();
    if let Some((a, b)) = text.split_once('*') {
        number(a, i) * number(b, i)
    } else if let Some((a, b)) = text.split_once('+') {
        number(a, i) + number(b, i)
    } else if text == "$i" {
        i
    } else {
        text.parse().unwrap_or_else(|_| panic!("not a number: {text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled() {
        let mut counter = Counter { i: 2 };
        assert_eq!(
            counter.fill(r#"{"a": $array($i*2, {"n": $j}), "i": $i}"#),
            r#"{"a": [{"n": 0},{"n": 1},{"n": 2},{"n": 3}], "i": 2}"#
        );
        assert_eq!(counter.fill(r#"{"t": "$pad(5)"}"#), r#"{"t": "the q"}"#);
    }
}
