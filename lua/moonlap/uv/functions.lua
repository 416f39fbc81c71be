--- Which module has which functions of `moonlap.uv`, in the order of the reference; it is loaded
-- when one of them is first used (`moonlap.uv.loading`). Modules without any come last. A name with
-- a version is there with that libuv and later ones.
-- @module moonlap.uv.functions

return {
    errors = "err_name strerror translate_sys_error",
    fault = "set_error_handler",
    req = "cancel req_get_type",
    handle_functions = [[
        close fileno handle_get_type has_ref is_active is_closing recv_buffer_size ref
        send_buffer_size unref walk
    ]],
    turn = "backend_fd backend_timeout loop_alive loop_mode now run stop update_time",
    loop_state = [[
        loop_close loop_configure metrics_idle_time metrics_info@1.45 print_active_handles
        print_all_handles
    ]],
    timer = [[
        new_timer timer_again timer_get_due_in timer_get_repeat timer_set_repeat timer_start
        timer_stop
    ]],
    watcher = [[
        check_start check_stop idle_start idle_stop new_check new_idle new_prepare prepare_start
        prepare_stop
    ]],
    stream = [[
        accept is_readable is_writable listen stream_get_write_queue_size stream_set_blocking
    ]],
    reading = "read_start read_stop",
    writing = "shutdown try_write try_write2 write write2",
    tcp = [[
        new_tcp tcp_bind tcp_close_reset tcp_connect tcp_getpeername tcp_getsockname tcp_keepalive
        tcp_nodelay tcp_open tcp_simultaneous_accepts tcp_write_queue_size
    ]],
    pipe = [[
        new_pipe pipe_bind pipe_chmod pipe_connect pipe_getpeername pipe_getsockname pipe_open
        pipe_pending_count pipe_pending_instances pipe_pending_type pipe_bind2@1.46
        pipe_connect2@1.46
    ]],
    fd_pair = "pipe socketpair",
    tty = [[
        new_tty tty_get_vterm_state tty_get_winsize tty_reset_mode tty_set_mode
        tty_set_vterm_state
    ]],
    udp = [[
        new_udp udp_bind udp_connect udp_get_send_queue_count udp_get_send_queue_size
        udp_getpeername udp_getsockname udp_open udp_recv_start udp_recv_stop udp_send
        udp_set_broadcast udp_set_ttl udp_try_send udp_try_send2@1.50
    ]],
    udp_multicast = [[
        udp_set_membership udp_set_multicast_interface udp_set_multicast_loop
        udp_set_multicast_ttl udp_set_source_membership
    ]],
    async = "async_send new_async",
    poll = "new_poll new_socket_poll poll_start poll_stop",
    signal = "new_signal signal_start signal_start_oneshot signal_stop",
    process = "disable_stdio_inheritance kill process_get_pid process_kill spawn",
    fs_event = "fs_event_getpath fs_event_start fs_event_stop new_fs_event",
    fs_poll = "fs_poll_getpath fs_poll_start fs_poll_stop new_fs_poll",
    thread = "new_thread thread_detach thread_equal thread_join thread_self",
    thread_settings = [[
        thread_getaffinity@1.45 thread_getcpu@1.45 thread_getname@1.50 thread_getpriority@1.48
        thread_setaffinity@1.45 thread_setname@1.50 thread_setpriority@1.48
    ]],
    semaphore = "new_sem sem_post sem_trywait sem_wait",
    work = "new_work queue_work",
    fs_file = [[
        fs_close fs_fdatasync fs_fstat fs_fsync fs_ftruncate fs_lstat fs_open fs_read fs_rename
        fs_sendfile fs_stat fs_statfs fs_unlink fs_write
    ]],
    fs_attributes = [[
        fs_access fs_chmod fs_chown fs_fchmod fs_fchown fs_futime fs_lchown fs_lutime fs_utime
    ]],
    fs_links = "fs_copyfile fs_link fs_readlink fs_realpath fs_symlink",
    fs_dir = [[
        fs_closedir fs_mkdir fs_mkdtemp fs_mkstemp fs_opendir fs_readdir fs_rmdir fs_scandir
        fs_scandir_next
    ]],
    dns = "getaddrinfo getnameinfo",
    system = [[
        available_parallelism clock_gettime@1.45 cpu_info cpumask_size@1.45
        get_available_memory@1.45 get_constrained_memory get_free_memory get_total_memory
        getrusage getrusage_thread@1.50 gettimeofday guess_handle hrtime if_indextoiid
        if_indextoname
        interface_addresses loadavg resident_set_memory sleep uptime version version_string
    ]],
    os = [[
        chdir cwd exepath get_process_title getgid getpid getuid os_environ os_get_passwd
        os_getenv os_gethostname os_getpid os_getppid os_getpriority os_homedir os_setenv
        os_setpriority os_tmpdir os_uname os_unsetenv set_process_title setgid setuid
    ]],
    random = "random",
    conversion = [[
        utf16_length_as_wtf8@1.49 utf16_to_wtf8@1.49 wtf8_length_as_utf16@1.49 wtf8_to_utf16@1.49
    ]],
    constants = "", -- only the table of that name
    go = "go read wait",
    zero_copy = "read_start_pointer try_write_pointer write_pointer",
    leaks = "leak_report leaks trace_handles",
    shimless = "shim_missing",

    address = "", barrier = "", buffers = "", closing = "", due = "", fs_request = "",
    fs_stat = "", handle = "", loop = "", message = "", out = "", path_watcher = "", pending = "",
    spin = "", stash = "", timer_records = "", udp_handle = "", userdata = "", words = "",
    worker = "",
}
