package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/record"
)

// SettingsFile is what a project keeps its settings in.
const SettingsFile = ".moonlap.lua"

const mostSettings = 1 << 20 // bytes

// Settings are what .moonlap.lua says.
type Settings struct {
	File        string          `json:"-"` // "" where there is none
	Root        string          `json:"-"` // folder that patterns are relative to
	Rules       map[string]bool `json:"rules"`
	Classes     []PathClass     `json:"classes"`
	Exclude     []string        `json:"exclude"`
	RuleFolders []string        `json:"rule_folders"` // relative to Root
}

// AllClasses are the project's classes and moonlap's own, in the order in which they are tried.
func (s *Settings) AllClasses() []PathClass {
	return append(append([]PathClass{}, s.Classes...), defaultClasses...)
}

// ReadSettings finds and reads the settings of the project that a path is in; file names them instead, where it is not "".
func ReadSettings(luajit record.Runtime, path, file string) (*Settings, error) {
	root, err := rootOf(path)
	if err != nil {
		return nil, err
	}
	s := &Settings{Root: root}
	if file == "" {
		file = filepath.Join(root, SettingsFile)
		if _, err := os.Lstat(file); errors.Is(err, os.ErrNotExist) {
			return s, nil
		}
	} else if s.Root, err = filepath.Abs(filepath.Dir(file)); err != nil {
		return nil, err
	}
	text, err := files.Read(file, mostSettings)
	if err != nil {
		return nil, err
	}
	s.File = file
	w := worker{luajit: luajit}
	defer w.close()
	answers, err := w.ask(request(text, "settings"))
	for _, a := range answers {
		switch {
		case err != nil:
		case a.Type == "fault":
			err = Fault{File: file, Line: a.Line, Column: 1, Message: a.Message}
		case a.Type == "settings" && !bytes.Equal(a.Settings, []byte("{}")):
			err = json.Unmarshal(a.Settings, s)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	for i, folder := range s.RuleFolders {
		if !filepath.IsAbs(folder) {
			s.RuleFolders[i] = filepath.Join(s.Root, folder)
		}
	}
	return s, nil
}

// rootOf is the folder of the project that path is in: the nearest one above with .moonlap.lua, else the nearest with .git,
// else the path itself, or the folder that it is in.
func rootOf(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(absolute); err == nil && !info.IsDir() {
		absolute = filepath.Dir(absolute)
	}
	for _, mark := range []string{SettingsFile, ".git"} {
		for folder := absolute; ; folder = filepath.Dir(folder) {
			if _, err := os.Lstat(filepath.Join(folder, mark)); err == nil {
				return folder, nil
			}
			if folder == filepath.Dir(folder) {
				break
			}
		}
	}
	return absolute, nil
}
