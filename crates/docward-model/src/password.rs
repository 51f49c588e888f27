//! Password strength (SE-6). The password is read once and not stored; its strength is hidden in
//! debug output too.

use std::fmt;

/// Maximum number of counted characters; a higher number is irrelevant for the strength.
const COUNTED: u32 = 64;

/// Words that attackers try first.
const WEAK_WORDS: &[&str] = &[
    "admin",
    "administrator",
    "changeme",
    "changeit",
    "database",
    "db",
    "default",
    "dba",
    "guest",
    "hello",
    "iloveyou",
    "letmein",
    "login",
    "mongo",
    "mongodb",
    "mongouser",
    "monkey",
    "my",
    "pass",
    "passwd",
    "passwort",
    "password",
    "pwd",
    "qwerty",
    "qwertyuiop",
    "qaz",
    "wsx",
    "root",
    "secret",
    "superuser",
    "test",
    "tencent",
    "user",
    "welcome",
];

/// The stored facts about a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Strength {
    length: u32,
    upper: bool,
    lower: bool,
    digit: bool,
    special: bool,
    weak_word: bool,
}

impl Strength {
    /// Measures a password.
    pub fn of(password: &str) -> Self {
        let any = |is: fn(char) -> bool| password.chars().any(is);
        Self {
            length: u32::try_from(password.chars().count()).unwrap_or(COUNTED).min(COUNTED),
            upper: any(char::is_uppercase),
            lower: any(char::is_lowercase),
            digit: any(char::is_numeric),
            special: any(|c| !c.is_uppercase() && !c.is_lowercase() && !c.is_numeric()),
            weak_word: is_weak(password),
        }
    }

    /// Returns whether it has at least this many characters.
    pub fn has_characters(&self, least: u64) -> bool {
        u64::from(self.length) >= least.min(u64::from(COUNTED))
    }

    /// The character classes it lacks, as text.
    pub fn missing(&self) -> Vec<&'static str> {
        [
            (self.upper, "upper-case letter"),
            (self.lower, "lower-case letter"),
            (self.digit, "digit"),
            (self.special, "special character"),
        ]
        .into_iter()
        .filter(|(has, _)| !has)
        .map(|(_, name)| name)
        .collect()
    }

    /// Returns whether it is little more than a commonly guessed word.
    pub fn is_weak_word(&self) -> bool {
        self.weak_word
    }
}

impl fmt::Debug for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Strength(…)")
    }
}

/// Returns whether the letters of the password are only weak words. Digits and symbols are either
/// dropped or read as the letters that they replace.
fn is_weak(password: &str) -> bool {
    let lower = password.to_lowercase();
    let letters: String = lower.chars().filter(|c| c.is_alphabetic()).collect();
    let core = lower.trim_matches(|c: char| !c.is_alphabetic());
    let read: String = core.chars().map(as_letter).filter(|c| c.is_alphabetic()).collect();
    // A short word among many symbols occurs by chance and does not make the symbols easier to
    // guess.
    let is_fair_share = |words: &str| 4 * words.chars().count() >= lower.chars().count();
    [letters, read].iter().any(|words| is_fair_share(words) && is_made_of_words(words))
}

fn as_letter(c: char) -> char {
    match c {
        '@' | '4' => 'a',
        '0' => 'o',
        '1' | '!' => 'i',
        '3' => 'e',
        '$' | '5' => 's',
        '7' => 't',
        other => other,
    }
}

/// Returns whether a text is only a sequence of weak words.
fn is_made_of_words(text: &str) -> bool {
    // `reached[n]`: the first n bytes are words. Texts longer than any pair of words are skipped.
    if text.is_empty() || text.len() > COUNTED as usize {
        return false;
    }
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for at in 0..text.len() {
        if !reached[at] {
            continue;
        }
        for word in WEAK_WORDS {
            if text.as_bytes()[at..].starts_with(word.as_bytes()) {
                reached[at + word.len()] = true;
            }
        }
    }
    reached[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn se_6_characters_and_their_kinds_are_counted() {
        let twelve = Strength::of("Abcdef1!xyzw");
        assert!(twelve.has_characters(12) && !twelve.has_characters(13));
        assert!(twelve.missing().is_empty() && !twelve.is_weak_word());
        assert!(!Strength::of("Abcdef1!xyz").has_characters(12));
        assert_eq!(Strength::of("abc").missing().len(), 3);
        assert!(Strength::of(&"aB3$".repeat(100)).has_characters(200), "long is long enough");
        assert_eq!(format!("{twelve:?}"), "Strength(…)");
    }

    #[test]
    fn se_6_weak_words_are_seen_through_their_dress() {
        for weak in [
            "admin123",
            "root",
            "Password123!",
            "P@ssw0rd2024!",
            "Admin@123456",
            "MongoDB@2024!!",
            "Root-Password-1",
            "123456Qwerty!!",
            "Root@1234567",
        ] {
            assert!(Strength::of(weak).is_weak_word(), "{weak}");
        }
        for fine in
            ["Abcdef1!xyzw", "Correct-Horse-7", "Testament!2024x", "1234567890!@", "天気がいい!Aa1"]
        {
            assert!(!Strength::of(fine).is_weak_word(), "{fine}");
        }
        // Only `db` and `my` match here, among many symbols.
        for fine in ["8#92!5@47&6Db", "My6&47@5!29#8"] {
            assert!(!Strength::of(fine).is_weak_word(), "{fine}");
        }
    }
}
