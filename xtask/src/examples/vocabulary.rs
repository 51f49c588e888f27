//! Names, places and sentences for the examples. Addresses use domains reserved for examples,
//! telephone numbers an unassigned block.

use super::chance::Rng;

const FIRST: &[&str] = &[
    "Wei", "Mei", "Jun", "Lan", "Hao", "Ying", "Tao", "Xin", "Ada", "Grace", "Linus", "Maria",
    "Jonas", "Priya", "Omar", "Sofia", "Lucas", "Emma", "Noah", "Olivia", "Mateo", "Aisha", "Yuki",
    "Ingrid", "Pavel", "Chloe", "Diego", "Hana", "Samuel", "Zoe", "Leo", "Nora", "Felix", "Ines",
    "Arjun", "Lena", "Tomas", "Ruth", "Karim", "Elif",
];
const LAST: &[&str] = &[
    "Zhang", "Wang", "Li", "Chen", "Liu", "Yang", "Huang", "Zhao", "Lovelace", "Hopper", "Silva",
    "Garcia", "Mueller", "Rossi", "Kowalski", "Tanaka", "Suzuki", "Kim", "Park", "Nguyen", "Patel",
    "Singh", "Khan", "Haddad", "Okafor", "Mensah", "Smith", "Jones", "Brown", "Larsen", "Novak",
    "Petrov", "Costa", "Moreau", "Weber", "Fischer", "Santos", "Ali", "Demir", "Berg",
];
pub(crate) const CITIES: &[&str] = &[
    "Shenzhen", "Shanghai", "Chengdu", "Berlin", "Lisbon", "Osaka", "Seoul", "Toronto", "Austin",
    "Nairobi", "Lyon", "Krakow", "Valencia", "Pune", "Hanoi", "Recife", "Oslo", "Izmir", "Leeds",
    "Quito",
];
const QUALITIES: &[&str] = &[
    "Wireless",
    "Compact",
    "Foldable",
    "Solar",
    "Ceramic",
    "Bamboo",
    "Portable",
    "Smart",
    "Classic",
    "Insulated",
    "Adjustable",
    "Linen",
    "Walnut",
    "Steel",
    "Travel",
    "Kids",
];
const THINGS: &[&str] = &[
    "Kettle",
    "Desk Lamp",
    "Backpack",
    "Notebook",
    "Water Bottle",
    "Keyboard",
    "Umbrella",
    "Chair",
    "Coffee Grinder",
    "Yoga Mat",
    "Power Bank",
    "Tea Set",
    "Speaker",
    "Blanket",
    "Cutting Board",
    "Monitor Stand",
];
pub(crate) const CATEGORIES: &[&str] =
    &["audio", "kitchen", "office", "outdoor", "home", "sports", "travel", "toys"];
const SUBJECTS: &[&str] = &[
    "The delivery",
    "This order",
    "The packaging",
    "Customer service",
    "The lid",
    "My second one",
    "The cable",
    "The colour",
    "Our whole team",
    "The manual",
    "The battery",
    "The handle",
];
const VERBS: &[&str] = &[
    "arrived two days early",
    "was exactly as described",
    "could be a little sturdier",
    "survived a month of daily use",
    "looks better than in the photos",
    "needed a replacement",
    "was worth the wait",
    "fits the small kitchen",
    "is louder than expected",
    "works as promised",
    "made a fine present",
    "was easy to set up",
];
const CLOSINGS: &[&str] = &[
    "and I would buy it again.",
    "but the price is fair.",
    "so five stars from us.",
    "although the box was dented.",
    "and support answered within an hour.",
    "which nobody here expected.",
    "so I ordered another.",
    "and the children love it.",
];
const TITLES: &[&str] = &[
    "What I learned this week",
    "Unboxing day",
    "A quiet Sunday",
    "Notes from the workshop",
    "Three things worth buying",
    "Autumn on the balcony",
    "Repairing the old lamp",
    "A long train ride",
    "Market finds",
    "How we pack our bags",
];
const CHAT: &[&str] = &[
    "Is the blue one back in stock?",
    "Shipping takes three days at the moment.",
    "Thank you!",
    "Can somebody check order status for me?",
    "Please send the order number by mail.",
    "The coupon does not work for me.",
    "It expired yesterday, sorry.",
    "Same here.",
    "New arrivals are online now.",
    "Good morning everybody.",
    "See you tomorrow.",
];

/// A generated person.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) phone: String,
    pub(crate) city: &'static str,
}

/// The `n`th person of a series; numbers make addresses unique.
pub(crate) fn person(rng: &mut Rng, n: usize) -> Person {
    let (first, last) = (rng.choose(FIRST), rng.choose(LAST));
    let domain = rng.choose(&["example.com", "example.org", "example.net"]);
    Person {
        name: format!("{first} {last}"),
        email: format!("{}.{}{n}@{domain}", first.to_lowercase(), last.to_lowercase()),
        phone: format!("1380013{:04}", (8000 + n * 7) % 10_000),
        city: rng.choose(CITIES),
    }
}

/// The name of the `n`th product: an adjective and a noun, all different up to 256.
pub(crate) fn product_name(n: usize) -> String {
    let quality = QUALITIES[n % QUALITIES.len()];
    // An odd step reaches every noun before a pair repeats.
    let thing = THINGS[(n / QUALITIES.len() + n * 5) % THINGS.len()];
    let series = n / (QUALITIES.len() * THINGS.len());
    if series == 0 {
        format!("{quality} {thing}")
    } else {
        format!("{quality} {thing} {}", series + 1)
    }
}

/// One sentence of a review or comment.
pub(crate) fn sentence(rng: &mut Rng) -> String {
    format!("{} {} {}", rng.pick(SUBJECTS), rng.pick(VERBS), rng.pick(CLOSINGS))
}

/// A few sentences.
pub(crate) fn paragraph(rng: &mut Rng, sentences: usize) -> String {
    let all: Vec<String> = (0..sentences).map(|_| sentence(rng)).collect();
    all.join(" ")
}

pub(crate) fn title(rng: &mut Rng) -> &'static str {
    rng.choose(TITLES)
}

pub(crate) fn chat_line(rng: &mut Rng) -> &'static str {
    rng.choose(CHAT)
}

/// Two hundred countries and territories by their ISO 3166 codes, the United States first.
pub(crate) const COUNTRIES: &[&str] = &[
    "US", "AD", "AE", "AF", "AG", "AI", "AL", "AM", "AO", "AR", "AS", "AT", "AU", "AW", "AZ", "BA",
    "BB", "BD", "BE", "BF", "BG", "BH", "BI", "BJ", "BM", "BN", "BO", "BR", "BS", "BT", "BW", "BY",
    "BZ", "CA", "CD", "CF", "CG", "CH", "CI", "CK", "CL", "CM", "CN", "CO", "CR", "CU", "CV", "CW",
    "CY", "CZ", "DE", "DJ", "DK", "DM", "DO", "DZ", "EC", "EE", "EG", "ER", "ES", "ET", "FI", "FJ",
    "FM", "FO", "FR", "GA", "GB", "GD", "GE", "GF", "GG", "GH", "GI", "GL", "GM", "GN", "GP", "GQ",
    "GR", "GT", "GU", "GW", "GY", "HK", "HN", "HR", "HT", "HU", "ID", "IE", "IL", "IM", "IN", "IQ",
    "IR", "IS", "IT", "JE", "JM", "JO", "JP", "KE", "KG", "KH", "KI", "KM", "KN", "KR", "KW", "KY",
    "KZ", "LA", "LB", "LC", "LI", "LK", "LR", "LS", "LT", "LU", "LV", "LY", "MA", "MC", "MD", "ME",
    "MG", "MH", "MK", "ML", "MM", "MN", "MO", "MP", "MQ", "MR", "MS", "MT", "MU", "MV", "MW", "MX",
    "MY", "MZ", "NA", "NC", "NE", "NG", "NI", "NL", "NO", "NP", "NR", "NZ", "OM", "PA", "PE", "PF",
    "PG", "PH", "PK", "PL", "PR", "PS", "PT", "PW", "PY", "QA", "RE", "RO", "RS", "RU", "RW", "SA",
    "SB", "SC", "SD", "SE", "SG", "SI", "SK", "SL", "SM", "SN", "SO", "SR", "SS", "ST", "SV", "SZ",
    "TC", "TD", "TG", "TH", "TJ", "TM", "TN", "TO",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_do_not_come_twice() {
        let products: BTreeSet<String> = (0..256).map(product_name).collect();
        assert_eq!(products.len(), 256);
        assert_eq!(COUNTRIES.iter().collect::<BTreeSet<_>>().len(), 200);
    }
}
