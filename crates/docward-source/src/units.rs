//! What a text says of the unit of a number where it names it: that requests may give whole ones only, that it is shown
//! divided by a hundred, or that it says how many of something there are.

/// Nobody writes more between a name and what says its unit.
const NEAR: usize = 160;

/// Whether what is written around a name says that it is a whole number: a validator (`z.number().int()`,
/// `Joi.number().integer()`, `@IsInt()`, `body('price').isInt()`), a description of an interface (`type: integer`),
/// what it is cut by (`parseInt(price)`), or that it is shown in hundredths (`price / 100`).
pub(super) fn is_whole(text: &[u8], from: usize, to: usize) -> bool {
    let before = &text[from.saturating_sub(NEAR)..from];
    let behind = &text[to..text.len().min(to + NEAR)];
    if is_remark(text, from) {
        return is_described(behind);
    }
    is_validated(behind)
        || is_marked(before, behind)
        || is_cut(before, behind)
        || is_in_hundredths(without_way(before), behind)
        || is_described(behind)
        || is_stepped(text, from, to)
}

/// Whether a form lets people give whole numbers only: `<input name="price" type="number" step="1">`.
fn is_stepped(text: &[u8], from: usize, to: usize) -> bool {
    /// Nobody writes longer elements of a form.
    const LONGEST: usize = 400;
    let before = &text[from.saturating_sub(LONGEST)..from];
    let behind = &text[to..text.len().min(to + LONGEST)];
    let Some(start) = before.iter().rposition(|b| *b == b'<') else { return false };
    let name = &before[start + 1..];
    let is_input = name.get(..5).is_some_and(|tag| tag.eq_ignore_ascii_case(b"input"));
    // Functions in an element have arrows.
    let is_end = |at: &usize| behind[*at] == b'>' && (*at == 0 || behind[*at - 1] != b'=');
    let end = (0..behind.len()).find(is_end).unwrap_or(behind.len());
    let step = |part: &[u8]| {
        let at = memchr::memmem::find(part, b"step=")? + 5;
        let value = part[at..].trim_ascii_start();
        let value = &value[value.iter().take_while(|b| b"\"'{".contains(b)).count()..];
        let digits = value.iter().take_while(|b| b.is_ascii_digit()).count();
        let is_whole = digits > 0 && value[0] != b'0' && value.get(digits) != Some(&b'.');
        Some(is_whole)
    };
    is_input && step(name).or_else(|| step(&behind[..end])) == Some(true)
}

fn is_way(b: &u8) -> bool {
    b.is_ascii_alphanumeric() || b"_.[]?!".contains(b)
}

/// What stands before a way of members: `Number(` before `order.items[0].`.
fn without_way(before: &[u8]) -> &[u8] {
    &before[..before.iter().rposition(|b| !is_way(b)).map_or(0, |at| at + 1)]
}

/// Whether a place is in a line of a remark.
pub(super) fn is_remark(text: &[u8], at: usize) -> bool {
    let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
    let line = text[start..at].trim_ascii_start();
    [&b"//"[..], b"#", b"*", b"/*"].iter().any(|sign| line.starts_with(sign))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// `price: z.number().int()`, `price: Joi.number().integer()`, `body("price").isInt()`.
fn is_validated(behind: &[u8]) -> bool {
    let rest = behind.trim_ascii_start();
    let rest = behind_quote(rest);
    // One statement, one property.
    let end = |chain: &[u8]| {
        chain.windows(2).position(|two| two == b",\n" || two[0] == b';').unwrap_or(chain.len())
    };
    match rest {
        [b':', chain @ ..] => {
            let chain = &chain[..end(chain)];
            let is_chain = [&b"number()"[..], b"number({"].iter().any(|word| contains(chain, word));
            is_chain && (contains(chain, b".int(") || contains(chain, b".integer("))
        }
        [b')' | b',', chain @ ..] => contains(&chain[..end(chain)], b".isInt("),
        _ => false,
    }
}

/// `@IsInt() @Min(0) price: number`.
fn is_marked(before: &[u8], behind: &[u8]) -> bool {
    let declares = [&b":"[..], b"!:", b"?:"].iter().any(|sign| behind.starts_with(sign));
    let mark = memchr::memmem::rfind(before, b"@IsInt(");
    declares && mark.is_some_and(|at| !before[at..].iter().any(|b| matches!(b, b';' | b'=' | b'}')))
}

/// `parseInt(req.body.price)`, `price: parseInt(x)`, `Number.isInteger(price)`.
fn is_cut(before: &[u8], behind: &[u8]) -> bool {
    let head = without_way(before);
    let given = behind.trim_ascii_start();
    let given = match given {
        [b':', value @ ..] => value.trim_ascii_start(),
        [b'=', value @ ..] if value.first() != Some(&b'=') => value.trim_ascii_start(),
        _ => b"",
    };
    // `setPrice(parseInt(…))`, as forms do.
    behind.starts_with(b"(parseInt(")
        || head.ends_with(b"parseInt(")
        || before.ends_with(b"parseInt(")
        || head.ends_with(b".isInteger(")
        || before.ends_with(b".isInteger(")
        || given.starts_with(b"parseInt(")
}

/// `order.total / 100`, `numeral(amount).divide(100)`: what is shown or handed on so counts hundredths. A share of
/// something is worked out after it was multiplied.
fn is_in_hundredths(head: &[u8], behind: &[u8]) -> bool {
    let rest = behind.trim_ascii_start();
    let rest = rest.strip_prefix(b"|| 0)").or_else(|| rest.strip_prefix(b"?? 0)")).unwrap_or(rest);
    let rest = rest.trim_ascii_start();
    let divided = rest.strip_prefix(b"/ 100").or_else(|| rest.strip_prefix(b"/100"));
    let is_hundred = divided.is_some_and(|r| !r.first().is_some_and(u8::is_ascii_digit));
    let is_product = head.trim_ascii_end().ends_with(b"*");
    (is_hundred && !is_product) || rest.starts_with(b").divide(100)")
}

/// Whether what is written around a name says that it has fractions: it is rounded to two places, read as a number with
/// them, turned into hundredths, or a part of it is taken.
pub(super) fn has_fractions(text: &[u8], from: usize, to: usize) -> bool {
    /// Nobody writes more between a number and what it is rounded by.
    const ROUNDED: usize = 60;
    if is_remark(text, from) {
        return false;
    }
    let before = &text[from.saturating_sub(NEAR)..from];
    let line = memchr::memrchr(b'\n', before).map_or(before, |at| &before[at + 1..]);
    let behind = &text[to..text.len().min(to + ROUNDED)];
    let rest = behind.split(|b| *b == b'\n' || *b == b';').next().unwrap_or_default();
    let head = without_way(before);
    let reads = |head: &[u8]| head.ends_with(b"parseFloat(") || head.ends_with(b"float(");
    let given = rest.trim_ascii_start();
    let given = behind_quote(given);
    let value = given.strip_prefix(b":").or_else(|| given.strip_prefix(b"="));
    let value = value.map(<[u8]>::trim_ascii_start).unwrap_or_default();
    let is_read = reads(head) || reads(before) || value.starts_with(b"parseFloat(");
    let is_rounded = contains(rest, b"toFixed(2)") || contains(rest, b":.2f") || {
        let format = memchr::memmem::rfind(line, b"%.2f");
        format.is_some_and(|at| line.len() - at < 2 * ROUNDED)
    };
    let factor = given.strip_prefix(b")").unwrap_or(given).trim_ascii_start();
    let factor = factor.strip_prefix(b"*").map(<[u8]>::trim_ascii_start).unwrap_or_default();
    let is_turned = factor.starts_with(b"100") && !factor.get(3).is_some_and(u8::is_ascii_digit);
    // `price * 0.9`, `1.19 * price`, `price * share / 100`.
    let is_part = is_decimal(factor)
        || (!factor.is_empty() && contains(factor, b"/ 100"))
        || head.trim_ascii_end().strip_suffix(b"*").is_some_and(|head| {
            let head = head.trim_ascii_end();
            let digits =
                head.iter().rev().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
            is_decimal(&head[head.len() - digits..])
        });
    is_read || is_rounded || is_turned || is_part
}

/// Whether a number with a fraction stands there.
fn is_decimal(text: &[u8]) -> bool {
    let whole = text.iter().take_while(|b| b.is_ascii_digit()).count();
    whole > 0 && matches!(text[whole..], [b'.', b'0'..=b'9', ..])
}

/// Whether a function that formats money divides it by a hundred: `const formatMoney = (amount) => amount / 100`.
pub(super) fn is_formatted(text: &[u8], from: usize, to: usize) -> bool {
    let before = &text[from.saturating_sub(NEAR)..from];
    let behind = &text[to..text.len().min(to + NEAR)];
    let formats = [&b"formatMoney"[..], b"formatAmount", b"formatCurrency", b"formatPrice"];
    let defined = formats.iter().filter_map(|name| {
        let at = memchr::memmem::rfind(before, name)?;
        Some(before[at + name.len()..].trim_ascii_start())
    });
    let is_definition = |rest: &[u8]| rest.starts_with(b"=") || rest.starts_with(b":");
    let called = |name: &&[u8]| {
        let at = memchr::memmem::rfind(before, name);
        at.is_some_and(|at| before[..at].trim_ascii_end().ends_with(b"function"))
    };
    is_in_hundredths(without_way(before), behind)
        && (defined.into_iter().any(is_definition) || formats.iter().any(called))
}

/// `price:` with `type: integer` behind it, as interfaces are described.
fn is_described(behind: &[u8]) -> bool {
    let rest = behind.strip_prefix(b"\"").unwrap_or(behind);
    let Some(rest) = rest.strip_prefix(b":") else { return false };
    let skipped = rest.iter().take_while(|b| b" \t\r\n*{".contains(b)).count();
    let rest = &rest[skipped..];
    let rest = rest.strip_prefix(b"\"").unwrap_or(rest);
    let Some(rest) = rest.strip_prefix(b"type") else { return false };
    let skipped = rest.iter().take_while(|b| b"\"': \t".contains(b)).count();
    rest[skipped..].starts_with(b"integer")
}

/// Whether an amount says how many: something is paid for each, as in `item.price * item.amount`.
pub(super) fn is_number_of_things(text: &[u8], from: usize, to: usize) -> bool {
    let rest = &text[to..text.len().min(to + NEAR)];
    if !text[from..to].eq_ignore_ascii_case(b"amount") {
        return false;
    }
    let prices = |way: &[u8]| {
        let way = String::from_utf8_lossy(way).to_ascii_lowercase();
        way.ends_with("price") || way.ends_with("priceperunit")
    };
    let before = &text[from.saturating_sub(NEAR)..from];
    let head = without_way(before).trim_ascii_end();
    let factor = head
        .strip_suffix(b"*")
        .map(<[u8]>::trim_ascii_end)
        .is_some_and(|head| prices(&head[without_way(head).len()..]));
    let behind = rest
        .trim_ascii_start()
        .strip_prefix(b"*")
        .map(<[u8]>::trim_ascii_start)
        .is_some_and(|rest| prices(&rest[..rest.iter().take_while(|b| is_way(b)).count()]));
    factor || behind
}

/// Whether something is counted one by one, which nobody does with money: `total++`, `++total`, `total += 1`,
/// `$inc: {total: 1}`.
pub(super) fn is_counted_up(text: &[u8], from: usize, to: usize) -> bool {
    let (near, behind) =
        (&text[from.saturating_sub(NEAR)..from], &text[to..text.len().min(to + NEAR)]);
    let is_one = |rest: &[u8]| {
        let rest = rest.trim_ascii_start();
        rest.first() == Some(&b'1')
            && !rest.get(1).is_some_and(|b| b.is_ascii_digit() || *b == b'.')
    };
    let rest = behind.trim_ascii_start();
    let given = behind_quote(rest);
    let is_increment = memchr::memmem::rfind(near, b"$inc").is_some_and(|at| {
        !near[at..].contains(&b'}') && given.strip_prefix(b":").is_some_and(is_one)
    });
    rest.starts_with(b"++")
        || without_way(near).ends_with(b"++")
        || rest.strip_prefix(b"+=").is_some_and(is_one)
        || is_increment
}

/// What stands behind a name that may be quoted.
fn behind_quote(rest: &[u8]) -> &[u8] {
    rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, name: &str) -> (usize, usize) {
        let from = text.find(name).expect("the name");
        (from, from + name.len())
    }

    #[test]
    fn dm_09_2_whole_numbers_are_seen_by_what_stands_around() {
        for text in [
            "price: z.number().int().positive(),",
            "price: Joi.number().integer().min(2),",
            "'price': Joi.number()\n  .integer(),",
            "body('price').isInt({min: 1}),",
            "@IsInt()\n  @Min(0)\n  price: number;",
            "parseInt(req.body.price)",
            "{ price: parseInt(given, 10) }",
            "price(parseInt(event.target.value, 10))",
            "if (!Number.isInteger(price)) {",
            "`${(order.price / 100).toFixed(2)}`",
            "(row.price || 0) / 100",
            "numeral(price).divide(100)",
            " *         price:\n *           type: integer\n",
            "\"price\": {\"type\": \"integer\"}",
            "<input name=\"price\" type=\"number\" onChange={(e) => set(e)} step=\"1\" />",
            "<Input type='number' step={1000} name='price'>",
        ] {
            let (from, to) = at(text, "price");
            assert!(is_whole(text.as_bytes(), from, to), "{text}");
        }
        for text in [
            "price: z.number().min(0),\n  count: z.number().int(),",
            "@IsInt()\n  count: number;\n  price: number;",
            "@IsInt() count = 3; price: number",
            "parseFloat(req.body.price)",
            "share * price / 100",
            "price * share / 100",
            "price / 1000",
            "price: Number,",
            "// price: z.number().int()",
            "price: {type: Number}",
            "<input name=\"price\" type=\"number\" step=\"0.01\">",
            "<input name=\"price\" type=\"number\" step=\"any\">",
            "<input name=\"price\"><input name=\"n\" step=\"1\">",
        ] {
            let (from, to) = at(text, "price");
            assert!(!is_whole(text.as_bytes(), from, to), "{text}");
        }
    }

    #[test]
    fn dm_09_2_fractions_are_seen_by_what_stands_around() {
        let has = |text: &str| {
            let (from, to) = at(text, "price");
            has_fractions(text.as_bytes(), from, to)
        };
        for text in [
            "`${item.price.toFixed(2)} EUR`",
            "(item.price * n).toFixed(2)",
            "parseFloat(req.body.price)",
            "price: parseFloat(given),",
            "float(row['price'])".replace("row['", "").as_str(),
            "f\"{order.price:.2f}\"",
            "fmt.Sprintf(\"%.2f\", order.price)",
            "amount: Math.round(order.price * 100),",
            "order.price * 0.9",
            "1.19 * order.price",
            "order.price * share / 100",
        ] {
            assert!(has(text), "{text}");
        }
        for text in [
            "order.price * 1000",
            "order.price * 3",
            "price: Number(given),",
            "// price.toFixed(2)",
            "const { price } = item;\nshow(rate.toFixed(2))",
        ] {
            assert!(!has(text), "{text}");
        }
    }

    #[test]
    fn dm_09_2_who_formats_money_knows_its_unit() {
        let formats = |text: &str| {
            let from = text.rfind("amount").expect("the name");
            is_formatted(text.as_bytes(), from, from + 6)
        };
        assert!(formats(
            "export const formatMoney = (amount: number) => numeral(amount).divide(100)"
        ));
        assert!(formats("function formatAmount(amount) {\n  return (amount / 100).toFixed(2);"));
        assert!(!formats("formatMoney(amount / 100)"), "a call says nothing of the others");
        assert!(!formats("const formatMoney = (amount) => amount.toFixed(2)"));
    }

    #[test]
    fn dm_09_2_an_amount_that_is_paid_for_each_is_a_number_of_things() {
        let counts = |text: &str| {
            let (from, to) = at(text, "amount");
            is_number_of_things(text.as_bytes(), from, to)
        };
        assert!(counts("sum + item.price * item.amount"));
        assert!(counts("cart.amount * product.unitPrice"));
        assert!(!counts("order.amount * rate"));
        assert!(!counts("total + order.amount"));
    }

    #[test]
    fn dm_09_2_what_is_counted_one_by_one_is_no_money() {
        let counts = |text: &str| {
            let (from, to) = at(text, "amount");
            is_counted_up(text.as_bytes(), from, to)
        };
        for text in ["x.amount++;", "++x.amount", "x.amount += 1;", "{ $inc: { 'x.amount': 1 } }"] {
            assert!(counts(text), "{text}");
        }
        for text in [
            "x.amount += 1.5",
            "x.amount += 10",
            "$inc: { amount: n }",
            "$inc: {n: 1}, $set: {amount: 1}",
        ] {
            assert!(!counts(text), "{text}");
        }
    }
}
