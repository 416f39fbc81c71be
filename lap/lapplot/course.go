package lapplot

import (
	"math"
	"time"
)

// mostColumns is into how many columns a course is cut: as many as the widest screen shows
// and a zoom can use.
const mostColumns = 4096

// A course is laps in their order, in constant memory: columns of equally many consecutive
// laps, their least, greatest and sum. When all columns are in use, neighbours are joined.
type course struct {
	columns []lapColumn
	most    int
	each    int64 // laps a full column holds, a power of two
	room    int64 // laps that the last column can still take
}

type lapColumn struct {
	min, max time.Duration
	sum      float64
}

func newCourse(most int) course {
	return course{columns: make([]lapColumn, 0, most), most: most, each: 1}
}

func (c *course) add(d time.Duration) {
	if c.room == 0 {
		c.open()
	}
	c.room--
	last := &c.columns[len(c.columns)-1]
	last.min = min(last.min, d)
	last.max = max(last.max, d)
	last.sum += float64(d)
}

func (c *course) open() {
	if len(c.columns) == c.most {
		for i := range c.most / 2 {
			a, b := c.columns[2*i], c.columns[2*i+1]
			c.columns[i] = lapColumn{min(a.min, b.min), max(a.max, b.max), a.sum + b.sum}
		}
		c.columns = c.columns[:c.most/2]
		c.each *= 2
	}
	c.columns = append(c.columns, lapColumn{min: math.MaxInt64, max: math.MinInt64})
	c.room = c.each
}

// points are one for each column, at its middle lap, counted from 1.
func (c *course) points() []Point {
	points := make([]Point, len(c.columns))
	for i, column := range c.columns {
		count := c.each
		if i == len(c.columns)-1 {
			count -= c.room
		}
		low, high := float64(column.min), float64(column.max)
		points[i] = Point{
			X:   float64(int64(i)*c.each) + float64(count+1)/2,
			Y:   math.Max(low, math.Min(high, column.sum/float64(count))),
			Low: low, High: high,
		}
	}
	return points
}
