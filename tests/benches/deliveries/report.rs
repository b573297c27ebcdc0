//! Rates become ratios, and ratios a line of a table.

/// The rates of one contender divided by those of another, round by round, in order of size.
pub(crate) struct Ratios {
    sorted: Vec<f64>,
    /// The contender's median, deliveries per second.
    rate: f64,
}

impl Ratios {
    pub(crate) fn new(rates: &[Vec<f64>], of: usize, beside: usize) -> Self {
        let sorted = sorted(rates.iter().map(|round| round[of] / round[beside]));
        Self { sorted, rate: quantile(&sorted_of(rates, of), 0.5) }
    }

    pub(crate) fn row(&self, name: &str, workers: usize) -> String {
        let [low, quarter, median, three_quarters, high] = [0.0, 0.25, 0.5, 0.75, 1.0].map(|at| quantile(&self.sorted, at));
        format!("| {name} | {workers} | **{median:.3}** | {quarter:.3} – {three_quarters:.3} | {low:.2} – {high:.2} | {:.0} |", self.rate)
    }
}

pub(crate) fn head(first: &str) -> String {
    format!(
        "| {first} | workers | ratio, median | half of the rounds | all rounds | deliveries/s |\n| --- | ---: | ---: | ---: | ---: | ---: |"
    )
}

fn sorted_of(rates: &[Vec<f64>], of: usize) -> Vec<f64> {
    sorted(rates.iter().map(|round| round[of]))
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<_> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Between the two nearest where it falls between.
fn quantile(sorted: &[f64], at: f64) -> f64 {
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some dozens of rounds")]
    let (place, below) = {
        let place = at * (sorted.len() - 1) as f64;
        (place, place as usize)
    };
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}
