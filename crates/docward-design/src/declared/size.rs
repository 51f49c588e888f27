//! Exact sizes in BSON (ALG-2).

/// The bytes of a document or array around its elements: the length at the start and the final zero
/// byte.
pub const DOCUMENT_OVERHEAD: u64 = 5;

/// Returns the size in bytes of an array of `count` values of `value` bytes each. Every element has
/// a type, its index as a string and a zero byte. The name of the array is not counted.
pub fn array(count: u64, value: u64) -> u64 {
    let elements = count.saturating_mul(value.saturating_add(2));
    elements.saturating_add(index_digits(count)).saturating_add(DOCUMENT_OVERHEAD)
}

/// Returns the mean size in bytes of arrays with `count` values on average.
pub fn mean_array(count: f64, value: u64) -> f64 {
    let few = count.max(0.0).floor();
    let (less, more) = (array(few as u64, value) as f64, array(few as u64 + 1, value) as f64);
    less + (count - few) * (more - less)
}

/// Returns the size in bytes of a large array. A single value may be large, but many values are not
/// all large at once. The part above the mean grows with the square root of their number, as in a
/// sum of independent values. More values therefore never take less space.
pub fn large_array(count: u64, mean: u64, large: u64) -> u64 {
    let above = large.saturating_sub(mean) as f64 * (count as f64).sqrt();
    array(count, mean).saturating_add(above.ceil() as u64)
}

/// Returns the size in bytes of a large array with values of several kinds. `deviation` is the
/// standard deviation of their sizes. Several values of the largest kind often occur together.
pub fn mixed_array(count: u64, mean: u64, large: u64, deviation: u64) -> u64 {
    let all_large = count.saturating_mul(large.saturating_sub(mean));
    let above = (deviation as f64 * (count as f64).sqrt()).ceil() as u64;
    let mixed = array(count, mean).saturating_add(above.min(all_large));
    mixed.max(large_array(count, mean, large))
}

/// Returns the size of an element in bytes: its type, its name, a zero byte and the value.
pub fn element(name: &str, value: u64) -> u64 {
    value.saturating_add(2 + name.len() as u64)
}

/// Returns the total number of digits of the indexes 0 to `count - 1`.
fn index_digits(count: u64) -> u64 {
    let (mut digits, mut from, mut width) = (0_u64, 0_u64, 1_u64);
    while from < count {
        let to = 10_u64.saturating_pow(u32::try_from(width).unwrap_or(20)).min(count);
        digits = digits.saturating_add((to - from).saturating_mul(width));
        from = to;
        width += 1;
    }
    digits
}

/// Returns how many values of `value` bytes fit into an array of `room` bytes.
pub fn fitting(room: u64, value: u64) -> u64 {
    fitting_large(room, value, value)
}

/// Returns how many values fit into a large array of `room` bytes.
pub fn fitting_large(room: u64, mean: u64, large: u64) -> u64 {
    // Sizes grow with the count, so bisection finds the answer.
    let (mut low, mut high) = (0_u64, room / mean.saturating_add(3) + 1);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if large_array(middle, mean, large) <= room { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lm_6_alg_2_half_a_million_ids_take_9888895_bytes() {
        assert_eq!(array(500_000, 12), 9_888_895);
        // By GC-16, a document holds about 844,000 ids.
        let most = fitting(16_777_216, 12);
        assert!((840_000..848_000).contains(&most), "{most}");
        assert!(array(most, 12) <= 16_777_216 && array(most + 1, 12) > 16_777_216);
    }

    #[test]
    fn er_m_6_ck_14_more_values_never_take_less() {
        assert_eq!(large_array(1, 400, 4000), array(1, 4000));
        let list = |count: u64| large_array(count, 400, 4000);
        assert!((1..2000).all(|count| list(count) < list(count + 1)));
        // With very many values, the mean determines the size.
        assert!(list(10_000) < array(10_000, 440));
    }

    #[test]
    fn alg_2_pt_poly_1_a_few_may_all_be_of_the_largest_kind() {
        // Two kinds have 0 and 500 bytes. In one of 32 lists with five elements, all elements are
        // large. With a thousand elements, this never happens.
        let deviation = (250.0 * 2.33) as u64;
        assert_eq!(mixed_array(5, 250, 500, deviation), array(5, 500));
        assert!(mixed_array(1000, 250, 500, deviation) < array(1000, 275));
        assert_eq!(mixed_array(7, 250, 500, 0), large_array(7, 250, 500));
    }

    #[test]
    fn alg_2_lists_that_are_mostly_empty_take_something() {
        assert!((mean_array(0.45, 4000) - (5.0 + 0.45 * 4003.0)).abs() < 1e-6);
        assert!((mean_array(3.0, 12) - array(3, 12) as f64).abs() < 1e-6);
    }

    #[test]
    fn alg_2_sizes_are_those_of_the_encoder() {
        for count in [0_u64, 1, 9, 10, 11, 99, 100, 1234] {
            let list: Vec<bson::Bson> = (0..count).map(|_| bson::Bson::Int64(1)).collect();
            let encoded = bson::doc! { "k": list }.to_vec().unwrap().len() as u64;
            assert_eq!(DOCUMENT_OVERHEAD + element("k", array(count, 8)), encoded, "{count}");
        }
    }
}
