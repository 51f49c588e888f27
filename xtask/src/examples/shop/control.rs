//! The good parts of this shop: the collections that others reference, and patterns that an audit
//! should recognise without a warning.

use bson::{Document, doc};

use super::SHOP;
use crate::examples::business::{
    ReviewSummary, all_reviews, blog, comment_schema, like_schema, order_documents, order_schema,
    post_schema, product_documents, product_schema, review_schema,
};
use crate::examples::chance::{DAY, Ids, TODAY, date};
use crate::examples::dump::Collection;
use crate::examples::entities::{Customer, Product, customers, products};
use crate::examples::schema::{
    Format, formatted, list, long, moment, need, object, object_id, one_word_of, text,
};

pub(super) fn collections() -> Vec<Collection> {
    let customers = customers();
    let products = products();
    let (reviews, summaries) = reviews(&products);
    let blog = blog(&customers);
    vec![
        customer(&customers),
        product(&products, summaries),
        reviews,
        order(&customers, &products),
        posts(blog.posts),
        comments(blog.comments),
        likes(blog.likes),
        login(&customers),
    ]
}

fn customer(customers: &[Customer]) -> Collection {
    let base = Collection::new(SHOP, "t_customer");
    let mut rng = base.rng();
    let documents = customers
        .iter()
        .enumerate()
        .map(|(n, c)| {
            doc! {
                "_id": c.id,
                "customerNo": 10_001 + n as i64,
                "customerName": &c.person.name,
                "email": &c.person.email,
                "phone": &c.person.phone,
                "city": c.person.city,
                "status": if rng.chance(90) { "active" } else { "inactive" },
                "createTime": date(c.born),
            }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![
            need("customerNo", long(1)),
            need("customerName", text(2, 50)),
            need("email", formatted(Format::Email)),
            need("phone", formatted(Format::Phone)),
            need("city", text(2, 40)),
            need("status", one_word_of(&["active", "inactive", "deleted"])),
            need("createTime", moment()),
        ]))
        .unique(doc! { "customerNo": 1 })
        .unique(doc! { "email": 1 })
        .case("control", &[], "nothing: customers as they should be")
}

fn reviews(products: &[Product]) -> (Collection, Vec<ReviewSummary>) {
    let base = Collection::new(SHOP, "t_product_review");
    let (documents, summaries) = all_reviews(&base.namespace(), products);
    let collection = base
        .documents(documents)
        .validated(review_schema())
        .index(doc! { "productId": 1, "createTime": -1 })
        .gzipped()
        .case("ST-28", &[], "nothing: every review is a document, 2,847 of them of one product");
    (collection, summaries)
}

fn product(products: &[Product], summaries: Vec<ReviewSummary>) -> Collection {
    let base = Collection::new(SHOP, "t_product");
    let documents = product_documents(&base.namespace(), products, &summaries);
    base.documents(documents)
        .validated(product_schema())
        .index(doc! { "category": 1, "price": 1 })
        .case(
            "ST-28",
            &[],
            "nothing: the newest five reviews, their number and average, the rest apart",
        )
}

fn order(customers: &[Customer], products: &[Product]) -> Collection {
    let base = Collection::new(SHOP, "t_order");
    let documents = order_documents(&base.namespace(), 600, customers, products);
    base.documents(documents)
        .validated(order_schema())
        .unique(doc! { "orderNo": 1 })
        .index(doc! { "customerId": 1, "createTime": -1 })
        .index(doc! { "items.productId": 1 })
        .gzipped()
        .case(
            "SN-30",
            &[],
            "nothing: the hybrid of the rule book, ids kept and names and prices copied",
        )
}

fn posts(documents: Vec<Document>) -> Collection {
    Collection::new(SHOP, "t_blog_post")
        .documents(documents)
        .validated(post_schema(vec![]))
        .index(doc! { "createTime": -1 })
        .case(
            "ST-27",
            &[],
            "no count of likes: each view counts t_post_like, which only a workload can show",
        )
}

fn comments(documents: Vec<Document>) -> Collection {
    Collection::new(SHOP, "t_blog_comment")
        .documents(documents)
        .validated(comment_schema())
        .index(doc! { "postId": 1, "createTime": -1 })
        .gzipped()
        .case("ST-19", &[], "nothing: all comments apart, 247 of them of one post")
}

fn likes(documents: Vec<Document>) -> Collection {
    Collection::new(SHOP, "t_post_like")
        .documents(documents)
        .validated(like_schema())
        .unique(doc! { "postId": 1, "customerId": 1 })
        .index(doc! { "customerId": 1 })
        .gzipped()
        .case(
            "ST-27",
            &[],
            "nothing wrong in the data: counted on every view, which only a workload can show",
        )
}

/// The last ten logins: every push truncates the array.
fn login(customers: &[Customer]) -> Collection {
    let base = Collection::new(SHOP, "t_customer_device");
    let mut rng = base.rng();
    let mut ids = Ids::new("devices of customers");
    let documents = customers
        .iter()
        .take(150)
        .map(|c| {
            let n = if rng.chance(80) { 10 } else { rng.between(1, 9) };
            let logins: Vec<Document> = (0..n)
                .map(|k| {
                    doc! {
                        "loginTime": date(TODAY - (n - k) * DAY - rng.between(0, 86_000) * 1000),
                        "city": c.person.city,
                    }
                })
                .collect();
            doc! {
                "_id": ids.at(c.born),
                "customerId": c.id,
                "platform": rng.choose(&["android", "browser", "ios"]),
                "logins": logins,
            }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![
            need("customerId", object_id()),
            need("platform", one_word_of(&["android", "browser", "ios"])),
            need(
                "logins",
                list(object(vec![need("loginTime", moment()), need("city", text(2, 40))]), 10),
            ),
        ]))
        .index(doc! { "customerId": 1 })
        .case("ST-34", &[], "nothing: the last ten logins, the eleventh pushes the first out")
}
