// The colours and letters of a drawing. A page that prefers dark colours gets them.
#pragma once

#include <string_view>

namespace treaty::machines {

inline constexpr std::string_view kStyle = R"(
text { font-family: ui-sans-serif, system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }
.page { fill: #ffffff; }
.title { font-size: 17px; font-weight: 600; fill: #0f172a; }
.box { fill: #f8fafc; stroke: #94a3b8; stroke-width: 1.4; }
.inner { fill: none; stroke: #94a3b8; stroke-width: 1.2; }
.name { font-size: 14px; font-weight: 600; fill: #0f172a; text-anchor: middle; }
.does { font-size: 12px; fill: #475569; text-anchor: middle; }
.accent.nothing { fill: #cbd5e1; } .accent.agent { fill: #2563eb; } .accent.machine { fill: #7c3aed; }
.accent.action { fill: #0d9488; } .accent.wait { fill: #d97706; }
.edge { fill: none; stroke-width: 1.5; }
.edge.transition { stroke: #64748b; } .edge.error { stroke: #dc2626; }
.edge.policy { stroke: #b45309; } .edge.visited { stroke: #16a34a; stroke-width: 2.6; }
.head.transition { fill: #64748b; } .head.error { fill: #dc2626; }
.head.policy { fill: #b45309; } .head.visited { fill: #16a34a; }
.pill { fill: #ffffff; fill-opacity: 0.92; }
.label { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 11px;
  text-anchor: middle; }
.label.transition { fill: #334155; } .label.error { fill: #b91c1c; }
.label.policy { fill: #92400e; } .label.visited { fill: #15803d; font-weight: 600; }
.begin { fill: #0f172a; }
.box.passed { stroke: #16a34a; stroke-width: 2.2; }
.box.last { stroke: #16a34a; stroke-width: 3; fill: #dcfce7; }
.badge { fill: #16a34a; } .badge-text { font-size: 11px; font-weight: 600; fill: #ffffff; text-anchor: middle; }
@media (prefers-color-scheme: dark) {
.page { fill: #0f172a; } .title, .name { fill: #f1f5f9; } .does { fill: #cbd5e1; }
.box { fill: #1e293b; stroke: #64748b; } .inner { stroke: #64748b; }
.accent.nothing { fill: #475569; } .accent.agent { fill: #60a5fa; } .accent.machine { fill: #a78bfa; }
.accent.action { fill: #2dd4bf; } .accent.wait { fill: #fbbf24; }
.edge.transition { stroke: #94a3b8; } .edge.error { stroke: #f87171; }
.edge.policy { stroke: #fbbf24; } .edge.visited { stroke: #4ade80; }
.head.transition { fill: #94a3b8; } .head.error { fill: #f87171; }
.head.policy { fill: #fbbf24; } .head.visited { fill: #4ade80; }
.pill { fill: #0f172a; }
.label.transition { fill: #e2e8f0; } .label.error { fill: #fca5a5; }
.label.policy { fill: #fcd34d; } .label.visited { fill: #86efac; }
.begin { fill: #f1f5f9; }
.box.passed { stroke: #4ade80; } .box.last { stroke: #4ade80; fill: #14532d; }
.badge { fill: #4ade80; } .badge-text { fill: #052e16; }
}
)";

}  // namespace treaty::machines
