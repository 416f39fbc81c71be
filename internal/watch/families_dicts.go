package watch

// dicts writes what is in shared dicts, where that was asked for.
func (e *exposition) dicts(counted func(name, kind, help string, values func(m Master, v put))) {
	each := func(name, help string, value func(d Dict) float64) {
		counted(name, "gauge", help, func(m Master, v put) {
			for _, d := range m.Dicts {
				if d.Unknown == "" {
					v(value(d), "zone", d.Zone)
				}
			}
		})
	}
	each("dict_entries", "Entries of a dictionary of Lua's; estimated where a part was read.", func(d Dict) float64 { return d.Entries.Estimate })
	each("dict_expired_entries", "Entries that are kept although their time is over.", func(d Dict) float64 { return d.Expired.Estimate })
	each("dict_entry_bytes", "Bytes that entries take, before pieces round them up.", func(d Dict) float64 { return d.Bytes.Estimate })
	each("dict_read_ratio", "Share of the pages with entries that was read.", func(d Dict) float64 {
		if d.PagesUsed == 0 {
			return 1
		}
		return float64(d.PagesRead) / float64(d.PagesUsed)
	})
	each("dict_evictions_per_second", "Entries that were thrown out, or deleted, while they were those that are thrown out next and had not expired; over the last interval.",
		func(d Dict) float64 { return d.Evicted.PerSecond })
}
