function handle() return ack() end
