// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// Measures of the plot, in pixels.
const (
	plotWidth  = 900
	labelWidth = 300 // left of the bars
	valueWidth = 200 // right of the longest bar
	barHeight  = 16
	rowGap     = 12
	headHeight = 62
	metricHead = 28
)

// Colours of the bars, told apart by people who see no red or green, and in
// print.
const (
	oursColour   = "#0b5394"
	theirsColour = "#f6b26b"
)

// SVG draws one bar for each figure, ours and theirs below each other; each
// metric has its own scale, from 0.
func (r *Report) SVG() []byte {
	var b bytes.Buffer
	y := headHeight
	var body bytes.Buffer
	for _, g := range groups(r.Rows) {
		y = drawGroup(&body, g, y)
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", plotWidth, y+10, plotWidth, y+10)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	put(&b, 12, 24, `font-size="17" font-weight="bold"`, r.Bench)
	put(&b, 12, 46, `fill="#555"`, fmt.Sprintf("%s, %d CPUs, kernel %s, %s; medians%s", r.Machine.CPU, r.Machine.CPUs, r.Machine.Kernel, r.Machine.Go, simulatedNote(r.Rows)))
	b.Write(body.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func simulatedNote(rows []Row) string {
	for i := range rows {
		if rows[i].Simulated {
			return "; * simulated rails, no hardware"
		}
	}
	return ""
}

// groups gives the rows by metric and unit, in the order of first sight.
func groups(rows []Row) [][]Row {
	var out [][]Row
	at := map[string]int{}
	for _, row := range rows {
		key := row.Metric + "\x00" + row.Unit
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], row)
	}
	return out
}

func drawGroup(b *bytes.Buffer, rows []Row, y int) int {
	longest := 0.0
	for i := range rows {
		longest = max(longest, rows[i].Ours, rows[i].Theirs)
	}
	put(b, 12, y+16, `font-weight="bold"`, fmt.Sprintf("%s (%s)", rows[0].Metric, rows[0].Unit))
	y += metricHead
	for i := range rows {
		row := &rows[i]
		name := row.Case
		if row.Simulated {
			name += " *"
		}
		put(b, labelWidth-8, y+12, `text-anchor="end"`, short(name))
		y = drawBar(b, y, row.Ours, longest, oursColour, "tbnet2 "+figure(row.Ours))
		if row.Peer != "" {
			label := row.Peer + " " + figure(row.Theirs)
			if row.Ratio != 0 {
				label += fmt.Sprintf(" (ratio %.2f)", row.Ratio)
			}
			y = drawBar(b, y, row.Theirs, longest, theirsColour, label)
		}
		y += rowGap
	}
	return y
}

func drawBar(b *bytes.Buffer, y int, v, longest float64, colour, label string) int {
	width := 0.0
	if longest > 0 {
		width = v / longest * (plotWidth - labelWidth - valueWidth)
	}
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", labelWidth, y, width, barHeight-2, colour)
	put(b, labelWidth+int(width)+6, y+12, "", label)
	return y + barHeight
}

// short keeps a label within its column.
func short(s string) string {
	const most = 42
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

func put(b *bytes.Buffer, x, y int, style, s string) {
	if style != "" {
		style = " " + style
	}
	// Control characters are not XML, whatever the escaping.
	s = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
	fmt.Fprintf(b, `<text x="%d" y="%d"%s>%s</text>`+"\n", x, y, style, html.EscapeString(s))
}
