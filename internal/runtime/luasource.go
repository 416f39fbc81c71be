package runtime

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// luaSource writes a value as Lua source, so that the other side needs no parser. Keys are the field names in snake_case, or as a tag
// has them: `lua:"name"`, `lua:"-"` for none, `lua:"name,not"` for the opposite of a bool. Fields with their zero value are left out,
// but in records, whose JSON tags say that of themselves.
func luaSource(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return quoteLua(v.String())
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.Pointer:
		return luaSource(v.Elem())
	case reflect.Slice, reflect.Array:
		var values []string
		for i := range v.Len() {
			values = append(values, luaSource(v.Index(i)))
		}
		return "{" + strings.Join(values, ", ") + "}"
	case reflect.Struct:
		return "{" + strings.Join(luaFields(v), ", ") + "}"
	}
	panic("no Lua source for a " + v.Type().String())
}

func luaFields(v reflect.Value) (fields []string) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		key, option, _ := strings.Cut(field.Tag.Get("lua"), ",")
		always := field.Type.Kind() == reflect.Struct
		if name, ok := field.Tag.Lookup("json"); ok {
			var omits bool
			key, omits = strings.CutSuffix(name, ",omitempty")
			always = !omits
		}
		switch {
		case key == "":
			key = snakeCase(field.Name)
		case key == "-":
			continue
		}
		switch {
		case option == "not":
			fields = append(fields, key+" = "+strconv.FormatBool(!v.Field(i).Bool()))
		case always || !v.Field(i).IsZero():
			fields = append(fields, key+" = "+luaSource(v.Field(i)))
		}
	}
	return fields
}

// snakeCase is a field's name in Lua: MeasureNS is measure_ns.
func snakeCase(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// quoteLua returns s as a Lua string literal of printable ASCII on one line. Braces
// are escaped too, so that the literal can stand in an nginx configuration without
// leaning on nginx's idea of Lua strings.
func quoteLua(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~' || strings.IndexByte(`"\{}`, c) >= 0:
			fmt.Fprintf(&b, `\%03d`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
