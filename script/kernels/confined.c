/* confined PROGRAM ARGUMENT…: runs a program under a seccomp filter as systemd's SystemCallFilter=@system-service sets one: what it
   does not list kills. It lists all that Linux 5.0 had, without what such services may not do; uretprobe (335) is not among it. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int forbidden[] = {
	SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_perf_event_open, SYS_bpf, SYS_userfaultfd, SYS_kcmp,
	SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_swapon, SYS_swapoff, SYS_reboot, SYS_kexec_load, SYS_kexec_file_load,
	SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_iopl, SYS_ioperm, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex,
	SYS_clock_adjtime, SYS_acct, SYS_quotactl, SYS_syslog, SYS_vhangup, SYS_modify_ldt, SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl,
	SYS_nfsservctl, SYS_lookup_dcookie, SYS_personality, SYS_add_key, SYS_request_key, SYS_keyctl, SYS_name_to_handle_at,
	SYS_open_by_handle_at, SYS_setns, SYS_unshare, SYS_sethostname, SYS_setdomainname,
};

int main(int n, char **a)
{
	enum { listed = sizeof forbidden / sizeof forbidden[0], last = 334, first_common = 424, last_common = 441 };
	struct sock_filter code[listed + 16];
	int i = 0;
	if (n < 2) {
		fputs("usage: confined PROGRAM ARGUMENT...\n", stderr);
		return 2;
	}
	code[i++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	code[i++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	code[i++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[i++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int k = 0; k < listed; k++) /* to the end, which kills */
		code[i++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden[k], listed - k + 3, 0);
	code[i++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last_common, 3, 0);
	code[i++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first_common, 1, 0);
	code[i++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 1, 0);
	code[i++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[i++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	struct sock_fprog filter = {i, code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("confined: seccomp");
		return 1;
	}
	execv(a[1], a + 1);
	perror(a[1]);
	return 127;
}
