//! A chart over time as inline SVG: no script, no outside resource, readable in print.

use crate::record::Chart;
use crate::report::junit::escape;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 28.0;

/// The largest number of points that are drawn for one line.
const POINTS_MAX: usize = 720;

/// Renders a chart with its title and a legend.
pub(crate) fn render(chart: &Chart) -> String {
    let points = || chart.lines.iter().flat_map(|(_, line)| line.iter());
    let right = points().map(|(x, _)| *x).fold(0.0_f64, f64::max).max(1e-3);
    let high = nice(points().map(|(_, y)| *y).fold(0.0_f64, f64::max));
    let mut svg = format!(
        "<figure><figcaption>{}</figcaption><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">",
        escape(&chart.title)
    );
    for part in 0..=4 {
        let share = f64::from(part) / 4.0;
        let y = TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - share);
        put(
            &mut svg,
            format_args!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
                label(high * share)
            ),
        );
        let x = LEFT + (WIDTH - LEFT - RIGHT) * share;
        put(
            &mut svg,
            format_args!(
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{}\">{} s</text>",
                HEIGHT - 8.0,
                if part == 4 { "end" } else { "middle" },
                label(right * share)
            ),
        );
    }
    for (index, (_, line)) in chart.lines.iter().enumerate() {
        let mut path = String::new();
        let every = line.len().div_ceil(POINTS_MAX).max(1);
        for (step, window) in line.chunks(every).enumerate() {
            // The worst point of a window is drawn, so that a spike is never lost.
            let worst =
                window.iter().copied().fold(
                    (0.0, 0.0),
                    |worst: (f64, f64), one| {
                        if one.1 >= worst.1 { one } else { worst }
                    },
                );
            let x = LEFT + (WIDTH - LEFT - RIGHT) * worst.0 / right;
            let y = TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - worst.1 / high);
            let command = if step == 0 { 'M' } else { 'L' };
            put(&mut path, format_args!("{command}{x:.1} {y:.1}"));
        }
        put(
            &mut svg,
            format_args!("<path class=\"line c{}\" d=\"{path}\"/>", index % 6),
        );
    }
    svg.push_str("</svg><div class=\"legend\">");
    for (index, (name, _)) in chart.lines.iter().enumerate() {
        put(
            &mut svg,
            format_args!("<span class=\"c{}\">{}</span>", index % 6, escape(name)),
        );
    }
    put(
        &mut svg,
        format_args!("<em>{}</em></div></figure>", escape(&chart.unit)),
    );
    svg
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.push_str(&text.to_string());
}

/// The next round number above a value.
fn nice(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10.0_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    let fitting = steps.iter().find(|step| **step * power >= value);
    fitting.copied().unwrap_or(10.0) * power
}

fn label(value: f64) -> String {
    if value >= 10.0 || value == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_ends_on_a_round_number() {
        for (value, end) in [(0.0, 1.0), (3.0, 5.0), (100.0, 100.0), (101.0, 200.0)] {
            assert!((nice(value) - end).abs() < 1e-9, "{value}");
        }
    }

    #[test]
    fn a_chart_has_a_path_and_a_legend_for_each_line() {
        let chart = Chart {
            title: "latency".into(),
            unit: "ms".into(),
            lines: vec![
                ("a<b".into(), vec![(0.0, 1.0), (1.0, 2.0)]),
                ("c".into(), vec![]),
            ],
        };
        let svg = render(&chart);
        assert_eq!(svg.matches("<path").count(), 2);
        assert!(svg.contains("a&lt;b"));
    }
}
