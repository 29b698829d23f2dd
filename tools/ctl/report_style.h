/* SPDX-License-Identifier: GPL-2.0 */
/* How the report looks: at a phone's width and at a desk's, by day and by night, and on paper. */
#ifndef RDSCTL_REPORT_STYLE_H
#define RDSCTL_REPORT_STYLE_H

namespace rdstools
{

inline constexpr const char *report_style = R"css(
:root { color-scheme: light dark; --ground: #f6f7f9; --card: #fff; --text: #1c2330; --muted: #5b6575;
	--line: #dde2ea; --accent: #2257c5; --good: #1a7f4b; --poor: #9a6200; --bad: #c02636;
	--good-ground: #e5f5ec; --poor-ground: #fdf2dc; --bad-ground: #fdeaec; }
@media (prefers-color-scheme: dark) { :root { --ground: #11151c; --card: #1a202a; --text: #e4e9f1;
	--muted: #98a3b5; --line: #2d3644; --accent: #86aeff; --good: #58cf92; --poor: #ecb454;
	--bad: #ff7f8b; --good-ground: #14301f; --poor-ground: #352a10; --bad-ground: #3b1a20; } }
* { box-sizing: border-box; }
body { margin: 0; overflow-wrap: anywhere; background: var(--ground); color: var(--text);
	font: 16px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main, header > div { max-width: 78rem; margin: 0 auto; padding: 0 1rem; }
header { background: var(--card); border-bottom: 1px solid var(--line); padding: 1.25rem 0; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; }
p { margin: .25rem 0; }
code, .mono { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .9em; }
.muted { color: var(--muted); }
a { color: var(--accent); }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin-top: .75rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1rem;
	margin: .6rem 0; overflow-x: auto; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem;
	margin-top: 1.25rem; }
.tiles .card { margin: 0; }
.tiles b { display: block; font-size: 1.5rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.finding { border-left: .3rem solid var(--poor); }
.finding.bad { border-left-color: var(--bad); }
.finding h3 { font-size: 1rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
.tag { display: inline-block; border-radius: .3rem; padding: 0 .45rem; font-size: .85rem; font-weight: 600; }
.tag.good { color: var(--good); background: var(--good-ground); }
.tag.poor { color: var(--poor); background: var(--poor-ground); }
.tag.bad { color: var(--bad); background: var(--bad-ground); }
.tag.idle { color: var(--muted); background: var(--ground); }
pre { margin: .5rem 0 0; padding: .5rem .7rem; background: var(--ground); border-radius: .35rem;
	white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 0 1rem;
	align-items: start; }
svg { display: block; width: 100%; max-width: 34rem; height: auto; margin: 0 auto; }
svg text { fill: var(--text); font: 12px ui-monospace, "DejaVu Sans Mono", monospace; }
svg .small { fill: var(--muted); font: 10px system-ui, "DejaVu Sans", sans-serif; }
svg rect { fill: var(--ground); stroke: var(--line); }
svg .idle rect { stroke: var(--muted); }
svg .self rect { stroke: var(--accent); }
svg .good rect { stroke: var(--good); fill: var(--good-ground); }
svg .poor rect { stroke: var(--poor); fill: var(--poor-ground); }
svg .bad rect { stroke: var(--bad); fill: var(--bad-ground); }
svg .link { fill: none; stroke: var(--muted); opacity: .75; }
svg .link.good { stroke: var(--good); }
svg .link.poor { stroke: var(--poor); stroke-dasharray: 7 3; }
svg .link.bad { stroke: var(--bad); stroke-dasharray: 3 4; }
svg .link.idle { stroke-dasharray: 1 4; }
.bars { display: grid; grid-template-columns: max-content 1fr max-content; gap: .3rem .7rem; align-items: center;
	font-size: .9rem; }
.bars > i { height: .8rem; border-radius: .2rem; background: var(--ground); overflow: hidden; }
.bars > i > i { display: block; height: 100%; background: var(--accent); border-radius: .2rem; }
.bars > :nth-child(3n) { text-align: right; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .35rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top;
	overflow-wrap: break-word; }
th { color: var(--muted); font-weight: 600; font-size: .8rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.address { overflow-wrap: anywhere; font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .82rem; }
tr:last-child td { border-bottom: 0; }
.narrow th:first-child { min-width: 7rem; }
.wide td.address { min-width: 7.4rem; }
.wide td.short, .tag { white-space: nowrap; }
.finding .tag, .wide .tag.bad { white-space: normal; }
summary { cursor: pointer; color: var(--accent); padding: .2rem 0; }
footer { color: var(--muted); font-size: .85rem; margin: 2.5rem 0; }
@media (max-width: 46rem) {
	h1 { font-size: 1.3rem; }
	.wide thead { display: none; }
	.wide, .wide tbody, .wide tr, .wide td { display: block; width: 100%; }
	.wide tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
	.wide tr:last-child { border-bottom: 0; }
	.wide td, .wide td.number, .wide td.short { display: flex; justify-content: space-between; gap: 1rem; border: 0;
		padding: .1rem 0; text-align: right; white-space: normal; overflow-wrap: anywhere; }
	.wide td::before { content: attr(data-name); color: var(--muted); text-align: left; flex: none;
		font-family: system-ui, "DejaVu Sans", sans-serif; font-size: .85rem; }
	.wide td.unknown { display: none; }
	th, td { padding: .3rem .35rem; overflow-wrap: anywhere; }
}
@media print { body { background: #fff; } .card { break-inside: avoid; } nav { display: none; } }
)css";

} // namespace rdstools

#endif
