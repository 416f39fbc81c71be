package harm

import "math/rand/v2"

// doubled: two more of moonlap look at the same workers.
func doubled(b *bed, l *look, r *rand.Rand) error {
	var others []*look
	for range 2 {
		others = append(others, b.look(commands[r.IntN(len(commands))].line))
	}
	for _, o := range others {
		if err := o.finish(); err != nil {
			return err
		}
	}
	return nil
}
