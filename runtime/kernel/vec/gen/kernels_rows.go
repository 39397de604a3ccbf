package main

// distances returns the kernels of the distances of a row from four others.
func distances() []*kernel {
	four := func(name, doc string, add func(k *kernel, sum, difference *expr) *expr) *kernel {
		rows := []string{"a", "b", "c", "d"}
		return &kernel{
			name: name, doc: "adds the " + doc + " x and each of a, b, c and d to the lanes of toA to toD.",
			arrays: f32s(append([]string{"x"}, rows...)...), accs: scalars32("toA", "toB", "toC", "toD"),
			body: func(k *kernel) {
				x := k.load("x")
				for i, row := range rows {
					k.setAcc(i, add(k, k.acc(i), k.sub(x, k.load(row))))
				}
			},
		}
	}
	return []*kernel{
		four("SquaredDistances", "squares of the differences of", func(k *kernel, sum, difference *expr) *expr {
			return k.fma(difference, difference, sum)
		}),
		four("AbsDistances", "differences, without their sign, of", func(k *kernel, sum, difference *expr) *expr {
			return k.add(sum, k.abs(difference))
		}),
	}
}

// fourRows returns the kernels that reduce four rows in one pass: the lanes of one are two or four
// registers, each of which waits for its own last step.
func fourRows() []*kernel {
	four := func(name, doc, to string, step func(k *kernel, lane, x *expr) *expr) *kernel {
		rows := []string{"a", "b", "c", "d"}
		return &kernel{
			name: name, doc: doc, arrays: f32s(rows...), accs: scalars32(to+"A", to+"B", to+"C", to+"D"),
			body: func(k *kernel) {
				for i, row := range rows {
					k.setAcc(i, step(k, k.acc(i), k.load(row)))
				}
			},
		}
	}
	return []*kernel{
		four("FourSums", "adds a, b, c and d each to the lanes of its own.", "sum", func(k *kernel, lane, x *expr) *expr { return k.add(lane, x) }),
		four("FourProds", "multiplies the lanes of a, b, c and d each by its own.", "product", func(k *kernel, lane, x *expr) *expr { return k.mul(lane, x) }),
	}
}

// transforms returns the kernels of Fourier transforms. Of a complex number z, zr and zi are the
// parts.
func transforms() []*kernel {
	return []*kernel{
		{
			name: "FourierTwos", doc: "stores a + b in a and a - b in b.", arrays: f32s("a", "b"),
			body: func(k *kernel) {
				a, b := k.load("a"), k.load("b")
				k.store("a", k.add(a, b))
				k.store("b", k.sub(a, b))
			},
		},
		{
			name: "FourierFours",
			doc: "stores a + b + c + d in a, (a - ib - c + id) u in b, (a - b + c - d) v in c and\n" +
				"(a + ib - c - id) w in d.",
			arrays: f32s("ar", "ai", "br", "bi", "cr", "ci", "dr", "di"), scalars: scalars32("ur", "ui", "vr", "vi", "wr", "wi"), full: true,
			body: (*kernel).fourierFours,
		},
		{
			name: "FourierEnds",
			doc: "stores in x and y what a transform has at k and at n - k, where the transform of the\n" +
				"pairs of a row of n numbers has z and v; u is exp(-2πi k/n).",
			arrays: f32s("xr", "xi", "yr", "yi", "zr", "zi", "vr", "vi"), scalars: scalars32("ur", "ui"), full: true,
			body: (*kernel).fourierEnds,
		},
	}
}

func (k *kernel) fourierFours() {
	pair := func(x, y string) (sum, difference *expr) {
		a, b := k.load(x), k.load(y)
		return k.add(a, b), k.sub(a, b)
	}
	// turned stores (xr + i xi) u.
	turned := func(to string, xr, xi *expr, u string) {
		ur, ui := k.scalar(u+"r"), k.scalar(u+"i")
		k.store(to+"r", k.fnma(ui, xi, k.mul(ur, xr)))
		k.store(to+"i", k.fma(ui, xr, k.mul(ur, xi)))
	}
	acr, ar := pair("ar", "cr")
	aci, ai := pair("ai", "ci")
	bdr, br := pair("br", "dr")
	bdi, bi := pair("bi", "di")
	k.store("ar", k.add(acr, bdr))
	k.store("ai", k.add(aci, bdi))
	turned("c", k.sub(acr, bdr), k.sub(aci, bdi), "v")
	turned("b", k.add(ar, bi), k.sub(ai, br), "u")
	turned("d", k.sub(ar, bi), k.add(ai, br), "w")
}

func (k *kernel) fourierEnds() {
	half := k.num(0.5)
	mean := func(a, b *expr) *expr { return k.mul(k.add(a, b), half) }
	less := func(a, b *expr) *expr { return k.mul(k.sub(a, b), half) }
	zr, zi, vr, vi := k.load("zr"), k.load("zi"), k.load("vr"), k.load("vi")
	er, ei := mean(zr, vr), less(zi, vi) // of the numbers at even places
	or, oi := mean(zi, vi), less(vr, zr) // of those at odd ones
	ur, ui := k.scalar("ur"), k.scalar("ui")
	tr := k.fnma(ui, oi, k.mul(ur, or))
	ti := k.fma(ui, or, k.mul(ur, oi))
	k.store("xr", k.add(er, tr))
	k.store("xi", k.add(ei, ti))
	k.store("yr", k.sub(er, tr))
	k.store("yi", k.sub(ti, ei))
}
