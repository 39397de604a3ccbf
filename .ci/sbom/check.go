package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// What the schema asks (bom-1.5.schema.json of CycloneDX): the fields that each object
// must have, by where it stands. [] is every element.
var required = map[string][]string{
	"":                              {"bomFormat", "specVersion"},
	"metadata.component":            {"type", "name"},
	"metadata.component.hashes[]":   {"alg", "content"},
	"metadata.component.licenses[]": {"license"},
	"components[]":                  {"type", "name"},
	"components[].licenses[]":       {"license"},
	"components[].hashes[]":         {"alg", "content"},
	"dependencies[]":                {"ref"},
}

// forms are what values must look like there, those of a choice included.
var forms = map[string]*regexp.Regexp{
	"bomFormat":                           regexp.MustCompile(`^CycloneDX$`),
	"specVersion":                         regexp.MustCompile(`^1\.5$`),
	"serialNumber":                        regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`),
	"metadata.component.type":             regexp.MustCompile(`^application$`),
	"metadata.component.hashes[].alg":     regexp.MustCompile(`^SHA-256$`),
	"metadata.component.hashes[].content": regexp.MustCompile(`^[0-9a-f]{64}$`),
	"components[].type":                   regexp.MustCompile(`^library$`),
	"components[].purl":                   regexp.MustCompile(`^pkg:golang/[a-z0-9._~/-]+@v?[0-9][0-9a-zA-Z.+-]*$`),
	"components[].version":                regexp.MustCompile(`^v?[0-9]`),
	"components[].licenses[].license.id":  regexp.MustCompile(`^(Apache-2\.0|BSD-2-Clause|BSD-3-Clause|ISC|MIT)$`),
}

// check returns how many components a list in CycloneDX has, or what is wrong with it:
// a field that the schema asks for is missing, or another form than it has, or a name
// that is used twice or for nothing.
func check(data []byte) (int, error) {
	var raw any
	if err := json.Unmarshal(data, &raw); err != nil {
		return 0, err
	}
	if err := checkValue("", raw); err != nil {
		return 0, err
	}
	var b bom
	if err := json.Unmarshal(data, &b); err != nil {
		return 0, err
	}
	refs := []string{b.Metadata.Component.Ref}
	for _, c := range b.Components {
		if c.PURL == "" || c.Version == "" || len(c.Licenses) == 0 {
			return 0, fmt.Errorf("components: %q lacks a purl, a version or a licence", c.Name)
		}
		if slices.Contains(refs, c.Ref) {
			return 0, fmt.Errorf("components: got bom-ref %q twice, want it once", c.Ref)
		}
		refs = append(refs, c.Ref)
	}
	for _, d := range b.Dependencies {
		for _, ref := range append(d.DependsOn, d.Ref) {
			if !slices.Contains(refs, ref) {
				return 0, fmt.Errorf("dependencies: got %q, which is the bom-ref of nothing", ref)
			}
		}
	}
	if len(b.Components) == 0 {
		return 0, fmt.Errorf("components: got none")
	}
	return len(b.Components), nil
}

// checkValue checks what stands at a place.
func checkValue(place string, v any) error {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range required[place] {
			if _, ok := v[field]; !ok {
				return fmt.Errorf("%s: lacks %s, which the schema requires", at(place), field)
			}
		}
		for field, value := range v {
			inside := field
			if place != "" {
				inside = place + "." + field
			}
			if err := checkValue(inside, value); err != nil {
				return err
			}
		}
	case []any:
		for _, value := range v {
			if err := checkValue(place+"[]", value); err != nil {
				return err
			}
		}
	case string:
		if form := forms[place]; form != nil && !form.MatchString(v) {
			return fmt.Errorf("%s: got %q, want %s", at(place), v, form)
		}
	}
	return nil
}

func at(place string) string {
	if place == "" {
		return "the whole"
	}
	return place
}
