//! The people and goods of both shops. Both dumps use the same ones.

use bson::oid::ObjectId;

use super::chance::{DAY, Ids, OPENING, Rng, births};
use super::vocabulary::{CATEGORIES, Person, person, product_name};

/// A customer.
#[derive(Clone)]
pub(crate) struct Customer {
    pub(crate) id: ObjectId,
    pub(crate) born: i64,
    pub(crate) person: Person,
}

/// Three hundred customers, the oldest first.
pub(crate) fn customers() -> Vec<Customer> {
    let mut rng = Rng::new("customers");
    let mut ids = Ids::new("customers");
    let births = births(&mut rng, 300);
    births
        .into_iter()
        .enumerate()
        .map(|(n, born)| Customer { id: ids.at(born), born, person: person(&mut rng, n) })
        .collect()
}

/// A product on sale.
#[derive(Clone)]
pub(crate) struct Product {
    pub(crate) id: ObjectId,
    pub(crate) born: i64,
    pub(crate) name: String,
    pub(crate) category: &'static str,
    pub(crate) cents: i64,
}

/// The product in the rule book's subset example.
pub(crate) const HEADPHONES: &str = "Wireless Headphones";
/// The number of its reviews there.
pub(crate) const HEADPHONES_REVIEWS: usize = 2847;

/// A hundred and twenty products; the first is the headphones.
pub(crate) fn products() -> Vec<Product> {
    let mut rng = Rng::new("products");
    let mut ids = Ids::new("products");
    (0..120)
        .map(|n| {
            // The range was built up in the first two months.
            let born = OPENING + n as i64 * DAY / 2;
            Product {
                id: ids.at(born),
                born,
                name: if n == 0 { HEADPHONES.to_owned() } else { product_name(n) },
                category: if n == 0 { "audio" } else { rng.choose(CATEGORIES) },
                cents: rng.between(5, 250) * 100 + rng.choose(&[0, 49, 90, 95, 99]),
            }
        })
        .collect()
}
