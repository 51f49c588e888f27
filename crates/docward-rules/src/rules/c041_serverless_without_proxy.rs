//! CN-02.3: platforms without memory between calls need a pooling proxy.

use std::collections::BTreeMap;

use docward_model::{Evidence, code::Serverless};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Serverless without a proxy
    ///
    /// ## What it checks
    /// Reports, as a note, functions of serverless platforms (such as AWS Lambda or Google Cloud Functions) that
    /// create their own client. Each running copy of the function then has its own pool.
    ///
    /// ## Why it matters
    /// The platform decides how many copies run at the same time, and their pools add up. A burst of calls can
    /// take all connections of a deployment.
    ///
    /// ## Example
    /// ```python,fires
    /// from pymongo import MongoClient
    /// client = MongoClient("mongodb+srv://cluster0.abcde.example.net/")
    ///
    /// def lambda_handler(event, context):
    ///     return client.shop.t_user.find_one({"_id": event["id"]})
    /// ```
    /// ```python,clean
    /// from pymongo import MongoClient
    /// client = MongoClient("mongodb+srv://cluster0.abcde.example.net/")
    ///
    /// def read(event):
    ///     return client.shop.t_user.find_one({"_id": event["id"]})
    /// ```
    ///
    /// ## How to fix
    /// Put a proxy that pools connections between the functions and the deployment. Until then:
    /// - Keep the client outside of the handler, with a small pool (`maxPoolSize` 5 or less).
    /// - Compare concurrency × pool size with the connection limit.
    ///
    /// ## When to ignore it
    /// The platform limits the concurrency, and this limit × pool size is within the connection limit.
    C041, "serverless-without-proxy",
    level: Recommended,
    area: Writes,
    severities: [Info],
    clauses: ["CN-02.3"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let mut files: BTreeMap<&str, Vec<&Serverless>> = BTreeMap::new();
    for function in found.serverless.iter().filter(|function| function.uses_mongodb) {
        files.entry(&function.place.location.file).or_default().push(function);
    }
    for functions in files.into_values() {
        let [function, others @ ..] = functions.as_slice() else { continue };
        cx.report(
            code::draft(
                evidence,
                &function.place,
                "serverless",
                format!("{} creates its own client", function.platform),
                "each instance that the platform starts has its own pool, so a burst of calls can use all connections",
                "use a pooling proxy; until then, create the client outside of the handler with maxPoolSize 5 or less, and keep concurrency × pool size below the limit",
            )
            .severity(docward_model::Severity::Info)
            .locations(others.iter().map(|other| other.place.location.clone())),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn cn_02_3_functions_of_platforms_are_known() {
        let count = |text: &str| check("C041", text).len();
        assert_eq!(
            count(
                "source a.js\nconst c = new MongoClient(u);\nexports.handler = async (event) => c.db();"
            ),
            1
        );
        assert_eq!(
            count(
                "source a.js\nconst c = new MongoClient(u);\nexports.other = async (x) => c.db();"
            ),
            0
        );
    }
}
