package interlock

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/grpc/metadata"
)

// Version is that of this module; it is in step with the server's.
const Version = "0.1.0"

// versionHeader names the version of the server in the header of a stream.
const versionHeader = "interlock-version"

// checkVersion refuses a server of a version that this client does not understand. One that
// does not say its version is accepted.
func checkVersion(header metadata.MD) error {
	for _, server := range header.Get(versionHeader) {
		if server != "" && understood(server) != understood(Version) {
			return &Error{Code: CodeServerNotUnderstood, Message: fmt.Sprintf(
				"the server is of version %s; this client understands %s", server, understood(Version))}
		}
	}
	return nil
}

// understood returns the part of a version in which a client and its server must agree: the
// major version, and while it is 0 the minor one, too.
func understood(version string) string {
	number, rest, _ := strings.Cut(version, ".")
	major, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return version
	case major > 0:
		return strconv.Itoa(major)
	}
	minor, _, _ := strings.Cut(rest, ".")
	if minor == "" {
		minor = "0"
	}
	return "0." + minor
}
