package main

import (
	"slices"
	"unicode/utf8"
)

// leastWidth is to how much keys and names are cut off, before columns are left out.
const leastWidth = 12

// leftOut are the columns that a narrow terminal does without, in this order.
var leftOut = []string{"token", "fence", "seen for", "waiting", "kind"}

// fitted is a table for a terminal of so many columns.
func fitted(rows [][]string, width int) [][]string {
	widths := widthsOf(rows)
	for _, name := range leftOut {
		key, holder := slices.Index(rows[0], "key"), slices.Index(rows[0], "holder")
		spare := max(widths[key]-leastWidth, 0) + max(widths[holder]-leastWidth, 0)
		if tableWidth(widths)-spare <= width {
			break
		}
		if i := slices.Index(rows[0], name); i >= 0 {
			for j := range rows {
				rows[j] = slices.Delete(rows[j], i, i+1)
			}
			widths = slices.Delete(widths, i, i+1)
		}
	}
	key, holder := slices.Index(rows[0], "key"), slices.Index(rows[0], "holder")
	for tableWidth(widths) > width && max(widths[key], widths[holder]) > leastWidth {
		if widths[key] >= widths[holder] {
			widths[key]--
		} else {
			widths[holder]--
		}
	}
	for _, row := range rows {
		row[key], row[holder] = shortened(row[key], widths[key]), shortened(row[holder], widths[holder])
	}
	return rows
}

func widthsOf(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// tableWidth is that of what align prints.
func tableWidth(widths []int) int {
	total := 1
	for _, w := range widths {
		total += 2 + w
	}
	return total
}
