// Package lapplot draws laps: their course, their density and their percentiles, as SVG,
// PNG or one HTML file that needs no network:
//
//	laps := lapplot.NewLaps("parse")
//	for … {
//		laps.Add(d) // constant memory, any number of laps
//	}
//	err := lapplot.All("laps.html", laps)
//
// What the laps of several names have in common is drawn together. Behind [All] stand
// [Timeline], [Density] and [Percentiles], which make a [Chart] each, [History], which draws
// a value over commits with its steps, and [Figure], which writes charts of whatever points
// and intervals.
//
// Times are nanoseconds. The names [All] and [Line] are those of
// github.com/loov/hrtime/hrplot, where the file is always SVG.
package lapplot
