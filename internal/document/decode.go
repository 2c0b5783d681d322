package document

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// maxTextBytes bounds one string of a document.
const maxTextBytes = 64 << 10

// shape is how values of one Go type stand in a document.
type shape struct {
	kind   kind
	name   string // for people: "a number"
	elem   *shape // of a pointer, a list, a map
	fields []field
	places map[string]int // of fields, by name
}

type kind int

const (
	kindPointer kind = iota // the value or null
	kindText
	kindMarked // a text that the type itself reads, as a time
	kindBool
	kindWhole
	kindNumber
	kindList
	kindObject
	kindMap
)

type field struct {
	name   string
	needed bool
	sparse bool // the objects in it may leave out anything
	shape  *shape
}

// decoder reads a document into Go values. What it makes of a type it notes
// for one document only: to look at all types of a report takes microseconds.
type decoder struct {
	scanner
	format Format
	shapes map[reflect.Type]*shape
}

func (d *decoder) shapeOf(t reflect.Type) *shape {
	if s := d.shapes[t]; s != nil {
		return s
	}
	s := &shape{}
	d.shapes[t] = s
	switch {
	case t.Kind() == reflect.Pointer:
		s.kind, s.elem = kindPointer, d.shapeOf(t.Elem())
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		s.kind, s.name = kindMarked, "a time as RFC 3339 writes it"
	case t.Kind() == reflect.String:
		s.kind, s.name = kindText, "a text"
	case t.Kind() == reflect.Bool:
		s.kind, s.name = kindBool, "true or false"
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		s.kind, s.name = kindWhole, "a whole number"
	case t.Kind() == reflect.Float64:
		s.kind, s.name = kindNumber, "a number"
	case t.Kind() == reflect.Slice:
		s.kind, s.name, s.elem = kindList, "a list", d.shapeOf(t.Elem())
	case t.Kind() == reflect.Map:
		s.kind, s.name, s.elem = kindMap, "an object", d.shapeOf(t.Elem())
	case t.Kind() == reflect.Struct && t.NumField() <= 64:
		s.kind, s.name, s.places = kindObject, "an object", map[string]int{}
		for i := range t.NumField() {
			f := d.fieldOf(t.Field(i))
			s.fields = append(s.fields, f)
			s.places[f.name] = i
		}
	default:
		panic(fmt.Sprintf("document: %v has no form in JSON that is read here", t))
	}
	return s
}

func (d *decoder) fieldOf(f reflect.StructField) field {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	rule := f.Tag.Get("document")
	return field{
		name:   name,
		needed: f.Type.Kind() != reflect.Pointer && options != "omitempty" && rule != "optional",
		sparse: rule == "sparse",
		shape:  d.shapeOf(f.Type),
	}
}

// value reads the next value of the document into v. In a sparse one nothing
// is missing.
func (d *decoder) value(v reflect.Value, s *shape, sparse bool) error {
	c := d.next()
	if s.kind == kindPointer {
		if c == 'n' && !d.startsWith("nan") {
			v.SetZero()
			return d.word("null")
		}
		v.Set(reflect.New(v.Type().Elem()))
		v, s = v.Elem(), s.elem
	}
	switch {
	case c == '{' && s.kind == kindObject:
		return d.fields(v, s, sparse)
	case c == '{' && s.kind == kindMap:
		return d.entries(v, s, sparse)
	case c == '[' && s.kind == kindList:
		return d.elements(v, s, sparse)
	case c == '"' && (s.kind == kindText || s.kind == kindMarked):
		return d.intoText(v, s)
	case c == '{' || c == '[' || c == '"':
		return Bad("", "is %s, not %s", map[byte]string{'{': "an object", '[': "a list", '"': "a text"}[c], s.name)
	}
	text, err := d.scalar(c)
	if err != nil {
		return err
	}
	switch digit := c == '-' || c >= '0' && c <= '9'; {
	case !digit && s.kind == kindBool && c != 'n':
		v.SetBool(c == 't')
		return nil
	case digit && (s.kind == kindNumber || s.kind == kindWhole):
		return numeral(string(text), v)
	}
	return Bad("", "is %s, not %s", string(text), s.name)
}

// fields reads an object into a struct.
func (d *decoder) fields(v reflect.Value, s *shape, sparse bool) error {
	var seen uint64 // by the place of the field
	var strangers map[string]bool
	guess := 0 // most documents keep the order of the struct
	err := d.object(func(name []byte) error {
		i, known := guess, guess < len(s.fields) && s.fields[guess].name == string(name)
		if !known {
			i, known = s.places[string(name)]
		}
		switch {
		case known && seen&(1<<i) != 0 || strangers[string(name)]:
			return Bad("", "is given twice")
		case known:
			seen |= 1 << i
			guess = i + 1
			f := &s.fields[i]
			return d.value(v.Field(i), f.shape, sparse || f.sparse)
		case !d.format.IgnoreUnknown:
			return Bad("", "is no field of %s", d.format.Schema)
		}
		if strangers == nil {
			strangers = map[string]bool{}
		}
		strangers[string(name)] = true
		return d.skip()
	})
	if err != nil || sparse {
		return err
	}
	for i, f := range s.fields {
		if f.needed && seen&(1<<i) == 0 {
			return Bad(f.name, "is missing")
		}
	}
	return nil
}

// entries reads an object into a map.
func (d *decoder) entries(v reflect.Value, s *shape, sparse bool) error {
	v.Set(reflect.MakeMap(v.Type()))
	return d.object(func(name []byte) error {
		key, entry := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		var err error
		if key.Kind() == reflect.String {
			key.SetString(string(name))
			err = plainText(string(name))
		} else {
			err = numeral(string(name), key)
		}
		if err != nil {
			return err
		}
		if v.MapIndex(key).IsValid() {
			return Bad("", "is given twice")
		}
		if err := d.value(entry, s.elem, sparse); err != nil {
			return err
		}
		v.SetMapIndex(key, entry)
		return nil
	})
}

// elements reads a list into a slice.
func (d *decoder) elements(v reflect.Value, s *shape, sparse bool) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	return d.list(func() error {
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		return d.value(v.Index(n), s.elem, sparse)
	})
}

func (d *decoder) intoText(v reflect.Value, s *shape) error {
	bytes, err := d.text()
	if err != nil {
		return err
	}
	text := string(bytes)
	if s.kind == kindText {
		v.SetString(text)
		return plainText(text)
	}
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(bytes); err != nil {
		return Bad("", "%q is not %s", text, s.name)
	}
	return nil
}

func numeral(text string, v reflect.Value) error {
	if v.Kind() == reflect.Float64 {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return Bad("", "%s is beyond any number", text)
		}
		v.SetFloat(x)
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v.OverflowInt(n) {
		return Bad("", "%s is no whole number, or beyond any", text)
	}
	v.SetInt(n)
	return nil
}

// plainText refuses what would drive a terminal instead of being shown on it.
func plainText(s string) error {
	if len(s) > maxTextBytes {
		return Bad("", "is %d bytes long, more than %d", len(s), maxTextBytes)
	}
	for i := range len(s) {
		c := s[i]
		// U+0080 to U+009F are control characters too; in UTF-8 they begin with C2.
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == 0xc2 && i+1 < len(s) && s[i+1] < 0xa0 {
			return Bad("", "%q holds a control character", s)
		}
	}
	return nil
}
