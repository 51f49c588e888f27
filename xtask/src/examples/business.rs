//! Documents and schemas that both shops share: reviews, products, orders, a blog, hourly buckets.

use bson::{Document, doc};

use super::chance::{HOUR, Ids, Rng, TODAY, births, date, day, money};
use super::entities::{Customer, HEADPHONES_REVIEWS, Product};
use super::schema::{
    Format, Node, Property, decimal, double, formatted, int, list, moment, need, object, object_id,
    one_word_of, text,
};
use super::vocabulary::{CATEGORIES, paragraph, person, sentence, title};

/// The review summary on a product page.
#[derive(Clone, Default)]
pub(super) struct ReviewSummary {
    pub(super) count: i32,
    sum: i32,
    pub(super) newest: Vec<Document>,
}

impl ReviewSummary {
    /// The average, with one decimal.
    pub(super) fn average(&self) -> f64 {
        f64::from((self.sum * 10 + self.count / 2) / self.count.max(1)) / 10.0
    }

    fn add(&mut self, rating: i32, shown: Document) {
        self.count += 1;
        self.sum += rating;
        self.newest.insert(0, shown);
        self.newest.truncate(5);
    }
}

/// Reviews of all products, oldest first, with the summary of each product.
pub(super) fn all_reviews(
    label: &str,
    products: &[Product],
) -> (Vec<Document>, Vec<ReviewSummary>) {
    let mut rng = Rng::new(label);
    let mut ids = Ids::new(label);
    let mut planned: Vec<(i64, usize)> = Vec::new();
    for (at, product) in products.iter().enumerate() {
        let n = if at == 0 { HEADPHONES_REVIEWS as i64 } else { rng.between(0, 9) };
        planned.extend((0..n).map(|_| (rng.between(product.born / 1000, TODAY / 1000) * 1000, at)));
    }
    planned.sort_unstable();
    let mut summaries = vec![ReviewSummary::default(); products.len()];
    let documents = planned
        .into_iter()
        .enumerate()
        .map(|(n, (born, at))| {
            // An average of 4.3.
            let rating = rng.choose(&[5, 5, 5, 5, 5, 5, 4, 4, 3, 2]);
            let user = person(&mut rng, n).name;
            let content = sentence(&mut rng);
            let shown = doc! {
                "userName": &user, "rating": rating, "content": &content, "createTime": date(born),
            };
            summaries[at].add(rating, shown);
            doc! {
                "_id": ids.at(born),
                "productId": products[at].id,
                "userName": user,
                "rating": rating,
                "content": content,
                "helpfulVotes": rng.int(0, 40),
                "createTime": date(born),
            }
        })
        .collect();
    (documents, summaries)
}

pub(super) fn review_schema() -> Node {
    object(vec![
        need("productId", object_id()),
        need("userName", text(2, 50)),
        need("rating", int(1, 5)),
        need("content", text(1, 2000)),
        need("helpfulVotes", int(0, 1_000_000)),
        need("createTime", moment()),
    ])
}

pub(super) fn product_documents(
    label: &str,
    products: &[Product],
    summaries: &[ReviewSummary],
) -> Vec<Document> {
    let mut rng = Rng::new(label);
    products
        .iter()
        .zip(summaries)
        .map(|(p, reviews)| {
            doc! {
                "_id": p.id,
                "productName": &p.name,
                "category": p.category,
                "price": money(p.cents),
                "stock": rng.int(0, 900),
                "avgRating": reviews.average(),
                "reviewCount": reviews.count,
                "recentReviews": reviews.newest.clone(),
                "createTime": date(p.born),
            }
        })
        .collect()
}

pub(super) fn product_schema() -> Node {
    object(vec![
        need("productName", text(2, 80)),
        need("category", one_word_of(CATEGORIES)),
        need("price", decimal()),
        need("stock", int(0, 1_000_000)),
        need("avgRating", double(0.0, 5.0)),
        need("reviewCount", int(0, 10_000_000)),
        need(
            "recentReviews",
            list(
                object(vec![
                    need("userName", text(2, 50)),
                    need("rating", int(1, 5)),
                    need("content", text(1, 2000)),
                    need("createTime", moment()),
                ]),
                5,
            ),
        ),
        need("createTime", moment()),
    ])
}

/// Orders with embedded lines: each has the product's id, and a copy of its name and price at that
/// time.
pub(super) fn order_documents(
    label: &str,
    n: usize,
    customers: &[Customer],
    products: &[Product],
) -> Vec<Document> {
    let mut rng = Rng::new(label);
    let mut ids = Ids::new(label);
    let births = births(&mut rng, n);
    births
        .into_iter()
        .enumerate()
        .map(|(at, born)| {
            let mut total = 0;
            let lines: Vec<Document> = (0..rng.between(1, 5))
                .map(|_| {
                    let product = rng.pick(products);
                    // Prices rose by a tenth once; older orders keep the paid price.
                    let cents = if rng.chance(10) { product.cents * 9 / 10 } else { product.cents };
                    let quantity = rng.int(1, 3);
                    total += cents * i64::from(quantity);
                    doc! {
                        "productId": product.id,
                        "productName": &product.name,
                        "price": money(cents),
                        "quantity": quantity,
                    }
                })
                .collect();
            doc! {
                "_id": ids.at(born),
                "orderNo": format!("ORD2023{:05}", at + 1),
                "customerId": rng.pick(customers).id,
                "items": lines,
                "totalAmount": money(total),
                "status": rng.choose(&["paid", "paid", "shipped", "shipped", "done", "cancelled"]),
                "createTime": date(born),
            }
        })
        .collect()
}

pub(super) fn order_schema() -> Node {
    object(vec![
        need("orderNo", formatted(Format::OrderNumber)),
        need("customerId", object_id()),
        need(
            "items",
            list(
                object(vec![
                    need("productId", object_id()),
                    need("productName", text(2, 80)),
                    need("price", decimal()),
                    need("quantity", int(1, 1000)),
                ]),
                50,
            ),
        ),
        need("totalAmount", decimal()),
        need("status", one_word_of(&["paid", "shipped", "done", "cancelled"])),
        need("createTime", moment()),
    ])
}

pub(super) fn comment_schema() -> Node {
    object(vec![
        need("postId", object_id()),
        need("userName", text(2, 50)),
        need("content", text(1, 2000)),
        need("createTime", moment()),
    ])
}

pub(super) fn like_schema() -> Node {
    object(vec![
        need("postId", object_id()),
        need("customerId", object_id()),
        need("createTime", moment()),
    ])
}

pub(super) fn post_schema(more: Vec<Property>) -> Node {
    let mut properties = vec![
        need("title", text(2, 120)),
        need("content", text(1, 20_000)),
        need("authorName", text(2, 50)),
        need("tags", list(text(2, 20), 10)),
        need("commentCount", int(0, 10_000_000)),
        need(
            "recentComments",
            list(
                object(vec![
                    need("userName", text(2, 50)),
                    need("content", text(1, 2000)),
                    need("createTime", moment()),
                ]),
                3,
            ),
        ),
        need("viewCount", int(0, 1_000_000_000)),
        need("createTime", moment()),
    ];
    properties.extend(more);
    object(properties)
}

/// Posts with a count and the last three comments, all comments, all likes.
pub(super) struct Blog {
    pub(super) posts: Vec<Document>,
    pub(super) comments: Vec<Document>,
    pub(super) likes: Vec<Document>,
}

/// Forty posts; the first has the rule book's 247 comments and 58,300 views.
pub(super) fn blog(customers: &[Customer]) -> Blog {
    let mut rng = Rng::new("blog");
    let (mut ids, mut comment_ids) = (Ids::new("posts"), Ids::new("comments"));
    let births = births(&mut rng, 40);
    let mut posts = Vec::new();
    let mut comments: Vec<(i64, Document)> = Vec::new();
    let mut likes: Vec<(i64, Document)> = Vec::new();
    for (at, &born) in births.iter().enumerate() {
        let id = ids.at(born);
        let n = if at == 0 { 247 } else { rng.below(25) };
        let mut newest = Vec::new();
        for k in 0..n as i64 {
            let when = born + (k + 1) * (TODAY - born) / (n as i64 + 1);
            let (user, content) = (rng.pick(customers).person.name.clone(), sentence(&mut rng));
            let comment = doc! { "userName": user, "content": content, "createTime": date(when) };
            newest.insert(0, comment.clone());
            newest.truncate(3);
            let mut whole = doc! { "_id": comment_ids.at(when), "postId": id };
            whole.extend(comment);
            comments.push((when, whole));
        }
        // As many as in the rule book's example, if there are that many customers.
        let admirers = if at == 0 { customers.len() } else { rng.below(90) };
        let first = rng.below(customers.len());
        for k in 0..admirers {
            let customer = &customers[(first + k) % customers.len()];
            let when = rng.between(born / 1000, TODAY / 1000) * 1000;
            likes.push((
                when,
                doc! { "postId": id, "customerId": customer.id, "createTime": date(when) },
            ));
        }
        posts.push(doc! {
            "_id": id,
            "title": title(&mut rng),
            "content": paragraph(&mut rng, 5),
            "authorName": rng.pick(customers).person.name.clone(),
            "tags": vec![rng.choose(&["home", "travel", "diy"]), rng.choose(&["news", "story"])],
            "commentCount": n as i32,
            "recentComments": newest,
            "viewCount": if at == 0 { 58_300 } else { rng.int(100, 9_000) },
            "createTime": date(born),
        });
    }
    comments.sort_by_key(|(when, _)| *when);
    likes.sort_by_key(|(when, _)| *when);
    let mut like_ids = Ids::new("likes");
    let likes = likes
        .into_iter()
        .map(|(when, like)| {
            let mut whole = doc! { "_id": like_ids.at(when) };
            whole.extend(like);
            whole
        })
        .collect();
    Blog { posts, comments: comments.into_iter().map(|(_, comment)| comment).collect(), likes }
}

/// Bucket with a counter and statistics: `{sensorId, hour, count, readings[], stats}`.
pub(super) fn minute_buckets(label: &str, sensors: i64, hours: i64) -> Vec<Document> {
    let mut rng = Rng::new(label);
    let mut ids = Ids::new(label);
    let begin = day("2024-03-01T10:00:00Z");
    (0..hours)
        .flat_map(|hour| (1..=sensors).map(move |sensor| (hour, sensor)))
        .map(|(hour, sensor)| {
            let start = begin + hour * HOUR;
            let values: Vec<f64> = (0..60).map(|_| rng.between(221, 230) as f64 / 10.0).collect();
            let readings: Vec<Document> = values
                .iter()
                .zip(0..)
                .map(|(temp, minute)| doc! { "minute": minute, "temp": *temp })
                .collect();
            doc! {
                "_id": ids.at(start),
                "sensorId": format!("S{sensor}"),
                "hour": date(start),
                "count": 60,
                "readings": readings,
                "stats": {
                    "min": values.iter().copied().fold(f64::INFINITY, f64::min),
                    "max": values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    "avg": values.iter().sum::<f64>() / 60.0,
                },
            }
        })
        .collect()
}

pub(super) fn minute_bucket_schema() -> Node {
    let range = || double(-50.0, 80.0);
    object(vec![
        need("sensorId", text(2, 20)),
        need("hour", moment()),
        need("count", int(0, 60)),
        need("readings", list(object(vec![need("minute", int(0, 59)), need("temp", range())]), 60)),
        need(
            "stats",
            object(vec![need("min", range()), need("max", range()), need("avg", range())]),
        ),
    ])
}
