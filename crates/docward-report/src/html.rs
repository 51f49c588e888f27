//! stub
use crate::View;
use docward_model::{Report, RuleMeta};
pub(crate) fn html(_: &Report, _: View, _: &[&RuleMeta]) -> String {
    String::new()
}
