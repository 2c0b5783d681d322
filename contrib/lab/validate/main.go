// Validate checks JSON documents against a JSON Schema, inside the lab's guest
// where no other validator is at hand. Test-only.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "validate:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("want SCHEMA DOCUMENT…")
	}
	schema, err := jsonschema.NewCompiler().Compile(arguments[0])
	if err != nil {
		return err
	}
	for _, path := range arguments[1:] {
		if err := validate(schema, path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func validate(schema *jsonschema.Schema, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	document, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		return err
	}
	return schema.Validate(document)
}
