package lapplot

// All writes timeline, density and percentiles of the laps to one file: .svg, .png or .html.
// The timeline is left out when the order of no laps is known.
func All(file string, laps ...*Laps) error {
	f := &Figure{}
	if t := Timeline(laps...); t.hasPoints() {
		f.Charts = append(f.Charts, t)
	}
	f.Charts = append(f.Charts, Density(laps...), Percentiles(laps...))
	return f.WriteFile(file)
}

// Line writes the timeline of the laps to a file: .svg, .png or .html.
func Line(file string, laps ...*Laps) error {
	return (&Figure{Charts: []*Chart{Timeline(laps...)}}).WriteFile(file)
}
