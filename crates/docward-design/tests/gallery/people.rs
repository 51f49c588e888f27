//! Tests the blog, the chat and the social network.

use docward_design::{Pattern, Purpose, Verdict, Vote, Window, size};
use docward_model::BsonType;

use crate::common::{gallery, gallery_with};

#[test]
fn st_19_er_x_1_tags_embed_and_comments_refer_in_one_run() {
    let blog = gallery("blog");
    assert_eq!(blog.verdict("post.tags"), Verdict::Embed);
    assert_eq!(blog.verdict("post.comments"), Verdict::Hybrid);
    // The rows about shared tags are outvoted and still listed.
    let tags = &blog.decision("post.tags").ruling;
    assert_eq!(tags.decided_by, ["ER-X.1"]);
    let dissent: Vec<&str> = tags.dissent().flat_map(|row| row.rows).copied().collect();
    assert_eq!(dissent, ["ER-M.3", "ER-T.6", "DM-07.5", "ER-M.5", "DM-07.6"]);
    assert_eq!(tags.votes(Vote::Reference), dissent.len());
    assert!(tags.votes(Vote::Embed) > dissent.len());
    assert_eq!(blog.votes("post.tags", "ER-M.4"), [Vote::Embed]);
    assert_eq!(blog.votes("post.comments", "ER-M.4"), [Vote::Reference]);
    assert_eq!(blog.votes("post.comments", "DM-08.2"), [Vote::Veto]);
}

#[test]
fn st_19_pt_hybrid_1_a_post_carries_three_comments_and_the_number_of_247() {
    let blog = gallery("blog");
    let comments = blog.decision("post.comments");
    assert_eq!(comments.facts.children.p50, 247);
    assert_eq!(
        comments.patterns,
        [
            Pattern::ParentInChild,
            Pattern::Subset {
                newest: 3,
                by: "createTime".to_owned(),
                fields: vec!["author".to_owned(), "text".to_owned()],
            },
            Pattern::Computed { counts: true, sums: Vec::new() },
        ]
    );
    assert_eq!(blog.field("post", "recentComments").items.unwrap().max, 3);
    assert_eq!(blog.field("post", "commentCount").kind, BsonType::Long);
    assert_eq!(blog.field("comment", "postId").kind, BsonType::ObjectId);
    // The page needs one read. Only users who want more need a second query.
    assert_eq!(blog.check("CK-9").0, Some(true));
    assert_eq!(blog.indexes("comment")[0], "{ postId: 1, createTime: -1 }");
}

#[test]
fn st_27_pt_computed_1_likes_are_counted_when_they_are_given() {
    let blog = gallery("blog");
    assert_eq!(blog.verdict("post.likes"), Verdict::Reference);
    assert_eq!(
        blog.patterns("post.likes"),
        [Pattern::ParentInChild, Pattern::Computed { counts: true, sums: Vec::new() }]
    );
    assert_eq!(blog.field("post", "likeCount").kind, BsonType::Long);
    assert_eq!(blog.check("CK-11").0, Some(true));
    // GC-47: with many more likes than views, a stored count is not worth it.
    let liked =
        gallery_with("blog", "insert: like\n    rate: 2/s", "insert: like\n    rate: 20000/s");
    assert_eq!(liked.named("post.likes"), ["parent-id-in-child"]);
    assert!(liked.decision("post.likes").remarks[0].contains("GC-47"));
    assert_eq!(liked.check("CK-11").0, Some(false));
}

#[test]
fn pt_ref_1_posts_name_their_author() {
    let blog = gallery("blog");
    assert_eq!(blog.field("post", "authorId").kind, BsonType::ObjectId);
    assert_eq!(blog.field("post", "author.name").origin.note().unwrap(), "copy of `author.name`");
    assert_eq!(
        blog.indexes("post"),
        [
            "{ slug: 1 } unique",
            "{ createTime: -1 }",
            "{ tags.word: 1, createTime: -1 }",
            "{ authorId: 1 }",
        ]
    );
}

#[test]
fn st_21_pt_bucket_3_messages_of_a_room_and_day_are_one_document() {
    let chat = gallery("chat");
    let [Pattern::Bucket(bucket)] = chat.advice("message").patterns.as_slice() else {
        panic!("{:?}", chat.advice("message").patterns)
    };
    assert_eq!((bucket.window, bucket.most), (Window::Day, 72));
    assert_eq!(bucket.per_year, (365, 26_280));
    assert!(bucket.bytes <= 102_400);
    let plan = chat.collection("message");
    assert!(matches!(plan.purpose, Purpose::Bucket(_)));
    // GC-34: the period is a date and not a string.
    assert_eq!(chat.field("message", "bucketStart").kind, BsonType::Date);
    assert_eq!(chat.field("message", "roomId").kind, BsonType::ObjectId);
    assert_eq!(chat.field("message", "readings").items.unwrap().max, 72);
    assert_eq!(chat.field("message", "readings.user.avatar").kind, BsonType::String);
    assert_eq!(plan.documents, Some((900e6_f64 / 72.0).ceil()));
    // A busy room needs a bucket for each hour.
    let busy = gallery_with("chat", "rate: 3/h", "rate: 60/h");
    let [Pattern::Bucket(bucket)] = busy.advice("message").patterns.as_slice() else { panic!() };
    assert_eq!((bucket.window, bucket.most), (Window::Hour, 60));
}

#[test]
fn pt_bucket_4_chat_finds_the_open_bucket_and_messages_of_a_user() {
    let chat = gallery("chat");
    assert_eq!(
        chat.indexes("message"),
        [
            "{ roomId: 1, bucketStart: -1 }",
            "{ readings.userId: 1 }",
            "{ roomId: 1, bucketStart: 1 } unique where count is below 72",
            "{ bucketStart: 1 } for 94694400 s",
        ]
    );
}

#[test]
fn er_t_6_a_room_lists_its_256_members() {
    let chat = gallery("chat");
    assert_eq!(chat.named("room.members"), ["child-ids-in-parent", "extended-reference"]);
    assert_eq!(chat.field("room", "members").items.unwrap().max, 256);
    assert_eq!(chat.field("room", "members.userId").kind, BsonType::ObjectId);
    assert_eq!(chat.indexes("room"), ["{ members.userId: 1 }"]);
}

#[test]
fn st_20_lm_6_pt_junction_1_who_follows_whom_is_a_document_for_each_pair() {
    let social = gallery("social");
    let follows = social.decision("user.followees");
    assert_eq!(follows.verdict, Verdict::Reference);
    assert_eq!(follows.ruling.decided_by, ["DM-08.2", "CK-8", "ER-T.6"]);
    assert_eq!(social.named("user.followees")[0], "junction");
    let relationship = social.model.relationship("user.followees").unwrap();
    assert_eq!(relationship.parents_max, 500_000.0);
    assert_eq!(size::array(relationship.parents_max as u64, 12), 9_888_895);
    assert_eq!(
        social.collection("user_followee").purpose,
        Purpose::Junction("user.followees".to_owned())
    );
    // GC-37: pairs are unique, and both directions have an index.
    assert_eq!(
        social.indexes("user_followee"),
        ["{ userId: 1, followeeId: 1 } unique", "{ followeeId: 1, userId: 1 }"]
    );
    assert_eq!(social.field("user_followee", "followee.handle").kind, BsonType::String);
    for field in &social.collection("user").fields {
        assert!(field.items.is_none_or(|items| items.max < 1000), "{}", field.name);
    }
}

#[test]
fn er_t_6_pt_junction_1_all_places_of_ids_are_compared() {
    let social = gallery("social");
    let follows = &social.decision("user.followees").alternatives;
    let longest: Vec<_> = follows.iter().map(|way| (way.name, way.longest_list)).collect();
    assert_eq!(
        longest,
        [
            ("junction", Some((0, false))),
            ("embed", Some((7500, true))),
            ("child-ids-in-parent", Some((7500, true))),
            ("parent-ids-in-child", Some((500_000, false)))
        ]
    );
    let chosen: Vec<bool> = follows.iter().map(|way| way.chosen).collect();
    assert_eq!(chosen, [true, false, false, false]);
    let bytes = |way: usize, name: &str| {
        follows[way].operations.iter().find(|cost| cost.name == name).unwrap().bytes
    };
    // Every write of the parent writes its list too, even if parent and child are the same entity.
    assert!(bytes(2, "follow or not") > 10.0 * bytes(0, "follow or not"));
    // With junction documents, the followed users are looked up one by one.
    assert!(bytes(0, "who is followed") > bytes(2, "who is followed"));
    let courses = social.decision("user.courses").alternatives.iter();
    let names: Vec<_> = courses.map(|way| way.name).collect();
    assert_eq!(names, ["child-ids-in-parent", "embed", "parent-ids-in-child", "junction"]);
    let notes = social.decision("user.notes").alternatives.iter();
    let notes: Vec<_> = notes.map(|way| (way.name, way.longest_list)).collect();
    assert_eq!(notes, [("reference", None), ("embed", None)]);
}

#[test]
fn er_t_6_students_list_their_courses_and_courses_of_3000_list_nobody() {
    let social = gallery("social");
    assert_eq!(social.named("user.courses"), ["child-ids-in-parent", "extended-reference"]);
    assert_eq!(social.field("user", "courses.courseId").kind, BsonType::ObjectId);
    assert!(social.collection("course").fields.iter().all(|field| field.items.is_none()));
    assert_eq!(
        social.indexes("user"),
        ["{ handle: 1 } unique", "{ courses.courseId: 1, name: 1 }"]
    );
}
