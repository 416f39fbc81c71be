package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/moonlap/moonlap/internal/files"
)

// A bucket has the records in S3-compatible storage: objects whose names begin with prefix.
type bucket struct {
	name, prefix string
	endpoint     *url.URL
	region       string // "" where the server is asked for it
	key          credentials.Value
	folder       string // of the copy
	silence      time.Duration
	note         func(format string, args ...any)
}

// amazon is the endpoint where the environment names none.
const amazon = "https://s3.amazonaws.com"

// newBucket reads a place, s3://BUCKET/PREFIX, and what the environment says of its server, as Amazon's own programs read it.
func newBucket(place string, getenv func(string) string) (*bucket, error) {
	path, isURL := strings.CutPrefix(place, "s3://")
	name, prefix, _ := strings.Cut(path, "/")
	if !isURL || name == "" {
		return nil, errors.New("s3://BUCKET/PREFIX: which bucket?")
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	at := cmp.Or(getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL"), amazon)
	endpoint, err := url.Parse(at)
	if err != nil || endpoint.Host == "" || endpoint.User != nil || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return nil, errors.New("s3: AWS_ENDPOINT_URL is a URL such as https://s3.example.org, without a password; keys have variables of their own")
	}
	return &bucket{
		name: name, prefix: prefix + "records/", endpoint: endpoint, silence: silence,
		region: cmp.Or(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION")),
		key: credentials.Value{
			AccessKeyID: getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: getenv("AWS_SESSION_TOKEN"),
			SignerType: credentials.SignatureV4,
		},
	}, nil
}

// tries is how often a request is sent that the server cannot answer just then.
const tries = 3

func (b *bucket) client() (*minio.Client, error) {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dial(ctx, network, address, b.silence)
		},
		IdleConnTimeout: b.silence / 3, MaxIdleConnsPerHost: fetchers,
		TLSHandshakeTimeout: b.silence, DisableCompression: true,
	}
	if b.key.AccessKeyID == "" {
		b.key.SignerType = credentials.SignatureAnonymous
	}
	return minio.New(b.endpoint.Host, &minio.Options{
		Creds: credentials.New(&credentials.Static{Value: b.key}), Secure: b.endpoint.Scheme == "https",
		Region: b.region, Transport: transport, MaxRetries: tries,
	})
}

// fetchers is how many records are fetched at once, mostRecord how long one may be, in bytes.
const (
	fetchers   = 8
	mostRecord = 128 << 20
)

// Fetch gets the records that the copy lacks. What is gone there goes here, too.
func (b *bucket) Fetch(ctx context.Context) error {
	client, err := b.client()
	if err != nil {
		return err
	}
	there, err := b.list(ctx, client)
	if err != nil {
		return err
	}
	here, err := b.copied()
	if err != nil {
		return err
	}
	for name := range here {
		if !there[name] {
			if err := os.Remove(filepath.Join(b.folder, name)); err != nil {
				return err
			}
		}
		delete(there, name)
	}
	return b.get(ctx, client, keys(there))
}

// list is what records are there.
func (b *bucket) list(ctx context.Context, client *minio.Client) (map[string]bool, error) {
	there := map[string]bool{}
	for object := range client.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix}) {
		if object.Err != nil {
			return nil, b.fault(object.Err)
		}
		name := strings.TrimPrefix(object.Key, b.prefix)
		if strings.ContainsAny(name, "/\\\x00") || strings.HasPrefix(name, ".") || !strings.HasSuffix(name, recordSuffix) {
			continue // another's
		}
		if object.Size > mostRecord {
			b.note("%s/%s%s is %d MB, no record: left out of the history", b.name, b.prefix, name, object.Size>>20)
			continue
		}
		there[name] = true
	}
	return there, nil
}

// copied are the records of the copy.
func (b *bucket) copied() (map[string]bool, error) {
	if err := os.MkdirAll(b.folder, 0o755); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(b.folder)
	names := map[string]bool{}
	for _, f := range entries {
		if strings.HasSuffix(f.Name(), recordSuffix) {
			names[f.Name()] = true
		}
	}
	return names, err
}

// get fetches records, several at once; after a fault no more are begun.
func (b *bucket) get(ctx context.Context, client *minio.Client, names []string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	var once sync.Once
	var fault error
	for part := range slices.Chunk(names, max(1, (len(names)+fetchers-1)/fetchers)) {
		all.Go(func() {
			for _, name := range part {
				if err := b.getOne(ctx, client, name); err != nil {
					once.Do(func() { fault = err; stop() })
					return
				}
			}
		})
	}
	all.Wait()
	return fault
}

func (b *bucket) getOne(ctx context.Context, client *minio.Client, name string) error {
	object, err := client.GetObject(ctx, b.name, b.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return b.fault(err)
	}
	defer object.Close()
	packed, err := io.ReadAll(files.Limit(object, name, mostRecord))
	switch {
	case minio.ToErrorResponse(err).Code == minio.NoSuchKey:
		return nil // it has just been deleted
	case err != nil:
		return b.fault(err)
	}
	return files.Write(filepath.Join(b.folder, name), packed, files.Shared)
}

// Send puts records of the copy there, and removes others. To do so again does no harm.
func (b *bucket) Send(ctx context.Context, add, remove []string) error {
	client, err := b.client()
	if err != nil {
		return err
	}
	for _, name := range add {
		packed, err := os.ReadFile(filepath.Join(b.folder, name))
		if err != nil {
			return err
		}
		_, err = client.PutObject(ctx, b.name, b.prefix+name, bytes.NewReader(packed), int64(len(packed)),
			minio.PutObjectOptions{ContentType: "application/gzip", DisableMultipart: true})
		if err != nil {
			return b.fault(err)
		}
	}
	if err := b.has(ctx, client, add); err != nil {
		return err
	}
	for _, name := range remove {
		if err := client.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{}); err != nil {
			return b.fault(err)
		}
	}
	return nil
}

// has makes sure that records have arrived: a web server that is none of S3 takes anything, and keeps nothing.
func (b *bucket) has(ctx context.Context, client *minio.Client, names []string) error {
	if len(names) == 0 {
		return nil
	}
	there, err := b.list(ctx, client)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !there[name] {
			return b.fault(fmt.Errorf("it has taken %s, and does not have it; see AWS_ENDPOINT_URL", name))
		}
	}
	return nil
}

// fault says what is wrong with the server, and the remedy.
func (b *bucket) fault(err error) error {
	var answer minio.ErrorResponse
	var timeout net.Error
	where := fmt.Sprintf("the bucket %s at %s", b.name, b.endpoint.Redacted())
	const keysAre = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	switch {
	case errors.As(err, &answer):
		switch answer.Code {
		case minio.NoSuchBucket:
			return fmt.Errorf("%s does not exist; make it, or name another", where)
		case "RequestTimeTooSkewed", "RequestExpired":
			return fmt.Errorf("%s refuses this machine's clock, %s; set it", where, time.Now().UTC().Format(time.RFC3339))
		case minio.InvalidAccessKeyID, minio.SignatureDoesNotMatch, "InvalidTokenId", "ExpiredToken", "XAdminUserNotFound":
			return fmt.Errorf("%s does not take this key (%s); see %s", where, answer.Code, keysAre)
		case minio.AccessDenied:
			if b.key.AccessKeyID == "" {
				return fmt.Errorf("%s wants a key; set %s", where, keysAre)
			}
			return fmt.Errorf("%s refuses this key, or it is for another server; it may have to list, read, write and delete: see %s", where, keysAre)
		}
		return fmt.Errorf("%s: %s: %s", where, answer.Code, answer.Message)
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%s: nothing was heard of the server for %v; see AWS_ENDPOINT_URL", where, b.silence)
	}
	var dialled *net.OpError
	if errors.As(err, &dialled) && dialled.Op == "dial" {
		return fmt.Errorf("%s: %w; see AWS_ENDPOINT_URL", where, dialled)
	}
	return fmt.Errorf("%s: %w", where, err)
}
