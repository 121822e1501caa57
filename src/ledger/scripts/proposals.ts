/** Who proposed to write off a directory, and who agreed; '' and '' unless it was proposed for this very server. */
export const LUA_PROPOSALS = `
local function proposalOf(dir, server)
  local at, by, agreed = string.match(redis.call('HGET', HEAD, 'writeOff:' .. dir) or '', '^([^\\31]*)\\31([^\\31]*)\\31([^\\31]*)')
  if at ~= server then return '', '' end
  return by, agreed
end
`;
