package process

import "fmt"

// A machine runs call frame instructions (DWARF 4, section 6.4.2) until it has passed an address.
type machine struct {
	common          *commonInfo
	location, until uint64
	row, initial    row
	stack           []row
	moved           bool // the location was advanced
}

// run executes a program. It stops without an error where the location passes until.
func (m *machine) run(program []byte) error {
	c := cursor{data: program}
	for !c.done() {
		op := c.u8()
		// The upper two bits hold an instruction with its operand in the lower six.
		switch low := uint64(op & 0x3f); op & 0xc0 {
		case 0x40: // DW_CFA_advance_loc
			if m.advance(low) {
				return nil
			}
			continue
		case 0x80: // DW_CFA_offset
			m.save(low, int64(c.uleb())*m.common.dataAlign)
			continue
		case 0xc0: // DW_CFA_restore
			m.restore(low)
			continue
		}
		passed, err := m.execute(op, &c)
		if passed || err != nil {
			return err
		}
	}
	if c.bad {
		return errFrames
	}
	return nil
}

func (m *machine) execute(op byte, c *cursor) (passed bool, err error) {
	switch op {
	case 0x00: // DW_CFA_nop
	case 0x01: // DW_CFA_set_loc
		m.location, m.moved = c.pointer(m.common.pointerEncoding), true
		return m.location > m.until, nil
	case 0x02:
		return m.advance(uint64(c.u8())), nil
	case 0x03:
		return m.advance(uint64(c.u16())), nil
	case 0x04:
		return m.advance(uint64(c.u32())), nil
	case 0x05: // DW_CFA_offset_extended
		m.save(c.uleb(), int64(c.uleb())*m.common.dataAlign)
	case 0x06: // DW_CFA_restore_extended
		m.restore(c.uleb())
	case 0x07, 0x08: // DW_CFA_undefined, DW_CFA_same_value
		kind := elsewhere
		if op == 0x08 {
			kind = sameValue
		}
		m.set(c.uleb(), rule{kind: kind})
	case 0x09: // DW_CFA_register
		m.set(c.uleb(), rule{kind: elsewhere})
		c.uleb()
	case 0x0a: // DW_CFA_remember_state
		m.stack = append(m.stack, m.row)
	case 0x0b: // DW_CFA_restore_state
		if len(m.stack) == 0 {
			return false, errFrames
		}
		m.row, m.stack = m.stack[len(m.stack)-1], m.stack[:len(m.stack)-1]
	case 0x0c: // DW_CFA_def_cfa
		m.row.register, m.row.offset, m.row.expression = c.uleb(), int64(c.uleb()), nil
	case 0x0d: // DW_CFA_def_cfa_register
		m.row.register, m.row.expression = c.uleb(), nil
	case 0x0e: // DW_CFA_def_cfa_offset
		m.row.offset = int64(c.uleb())
	case 0x0f: // DW_CFA_def_cfa_expression
		m.row.expression = c.take(int(c.uleb()))
	case 0x10, 0x16: // DW_CFA_expression, DW_CFA_val_expression
		m.set(c.uleb(), rule{kind: elsewhere})
		c.skip(int(c.uleb()))
	case 0x11: // DW_CFA_offset_extended_sf
		m.save(c.uleb(), c.sleb()*m.common.dataAlign)
	case 0x12: // DW_CFA_def_cfa_sf
		m.row.register, m.row.offset, m.row.expression = c.uleb(), c.sleb()*m.common.dataAlign, nil
	case 0x13: // DW_CFA_def_cfa_offset_sf
		m.row.offset = c.sleb() * m.common.dataAlign
	case 0x2e: // DW_CFA_GNU_args_size
		c.uleb()
	default:
		return false, fmt.Errorf("%w: instruction %#x", errFrames, op)
	}
	return false, nil
}

// advance reports whether the location has passed the address that is asked for.
func (m *machine) advance(delta uint64) bool {
	m.location += delta * uint64(m.common.codeAlign)
	m.moved = true
	return m.location > m.until
}

func (m *machine) save(register uint64, offset int64) { m.set(register, rule{atOffset, offset}) }

func (m *machine) restore(register uint64) {
	if register < dwCount {
		m.row.saved[register] = m.initial.saved[register]
	}
}

func (m *machine) set(register uint64, r rule) {
	if register < dwCount { // vector registers survive no call
		m.row.saved[register] = r
	}
}

// evaluate computes a DWARF expression (section 2.5) as far as linkers and the C library write them
// for frames: those of the procedure linkage table and of a signal's return.
func evaluate(program []byte, r Registers, read *Reader) (uint64, error) {
	var stack []uint64
	pop := func() (n uint64) {
		if len(stack) > 0 {
			n, stack = stack[len(stack)-1], stack[:len(stack)-1]
		}
		return n
	}
	push := func(n uint64) { stack = append(stack, n) }
	for c := (cursor{data: program}); !c.done(); {
		switch op := c.u8(); {
		case op == 0x06: // DW_OP_deref
			push(read.U64(pop()))
		case op == 0x08: // DW_OP_const1u
			push(uint64(c.u8()))
		case op == 0x1a:
			push(pop() & pop())
		case op == 0x22:
			push(pop() + pop())
		case op == 0x23: // DW_OP_plus_uconst
			push(pop() + c.uleb())
		case op == 0x24: // DW_OP_shl
			n := pop()
			push(pop() << n)
		case op == 0x2a: // DW_OP_ge
			b := int64(pop())
			if int64(pop()) >= b {
				push(1)
			} else {
				push(0)
			}
		case op >= 0x30 && op <= 0x4f: // DW_OP_lit0…31
			push(uint64(op - 0x30))
		case op >= 0x70 && op <= 0x8f: // DW_OP_breg0…31
			value, ok := r.get(uint64(op - 0x70))
			if !ok {
				return 0, fmt.Errorf("%w: an expression with register %d", ErrUnwind, op-0x70)
			}
			push(value + uint64(c.sleb()))
		default:
			return 0, fmt.Errorf("%w: operation %#x", ErrUnwind, op)
		}
		if c.bad {
			return 0, errFrames
		}
	}
	if len(stack) == 0 {
		return 0, errFrames
	}
	return pop(), read.Err
}
