package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A codec writes and reads messages as the protocol frames them: a header of lines, of
// which Content-Length counts, an empty line, and so many bytes of JSON. Unlike the
// library's it bounds the bytes it reads, and takes the whole of a message off the stream.
type codec struct{}

const (
	maxHeader  = 4 << 10
	maxMessage = 64 << 20
)

// WriteObject implements jsonrpc2.ObjectCodec.
func (codec) WriteObject(w io.Writer, obj any) error {
	data, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "Content-Length: %d\r\n\r\n%s", len(data), data)
	return err
}

// ReadObject implements jsonrpc2.ObjectCodec.
func (codec) ReadObject(r *bufio.Reader, v any) error {
	data, err := readMessage(r)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// readMessage returns the body of the next message.
func readMessage(r *bufio.Reader) ([]byte, error) {
	length, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	// A length is only a claim: memory is taken as bytes come.
	data, err := io.ReadAll(io.LimitReader(r, int64(length)))
	if err == nil && len(data) < length {
		err = io.ErrUnexpectedEOF
	}
	return data, err
}

// readHeader returns the length of the message behind a header.
func readHeader(r *bufio.Reader) (int, error) {
	length, read := -1, 0
	for {
		line, err := readLine(r, maxHeader-read)
		if err != nil {
			return 0, err
		}
		read += len(line)
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return 0, fmt.Errorf("header line %q: got no colon", line)
		}
		if strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			length, err = strconv.Atoi(strings.TrimSpace(value))
			if err != nil || length < 0 || length > maxMessage {
				return 0, fmt.Errorf("Content-Length: got %q, want 0 to %d", strings.TrimSpace(value), maxMessage)
			}
		}
	}
	if length < 0 {
		return 0, errors.New("header: got no Content-Length")
	}
	return length, nil
}

// readLine returns a line with its end, of at most so many bytes.
func readLine(r *bufio.Reader, most int) (string, error) {
	var line []byte
	for {
		c, err := r.ReadByte()
		if err != nil {
			if len(line) > 0 && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return "", err
		}
		line = append(line, c)
		if c == '\n' {
			return string(line), nil
		}
		if len(line) > most {
			return "", fmt.Errorf("header: got more than %d bytes", maxHeader)
		}
	}
}
