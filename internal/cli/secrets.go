package cli

import "regexp"

// What a command line may hold that a record must not, as a team shares records: passwords in URLs, and headers that let somebody in.
var secrets = []*regexp.Regexp{
	regexp.MustCompile(`(://[^/?#\s:@]*:)[^/?#\s@]+(@)`),
	regexp.MustCompile(`(?i)([?&](?:[\w-]*password|[\w-]*token|[\w-]*secret|api_?key)=)[^&#\s]+()`),
	regexp.MustCompile(`(?i)^((?:-H|--header=)?\s*[\w-]*(?:auth|token|key|secret|cookie|password)[\w-]*\s*:\s*)\S.*()$`),
}

// withoutSecrets is a command line, or a place, with "xxxxx" for what is secret.
func withoutSecrets(args ...string) []string {
	clean := make([]string, len(args))
	for i, arg := range args {
		for _, secret := range secrets {
			arg = secret.ReplaceAllString(arg, "${1}xxxxx${2}")
		}
		clean[i] = arg
	}
	return clean
}
