--[[
  Members as the caller gives them: what is absent keeps its value. What the caller judged a member by is compared with what is
  there, since what it did not give it has read before.

  Needs  member-record.lua
]]
-- Whether the value and the labels that the caller took for a member's are still those, or both nothing for one that is new.
local function isStillSo(basis, text)
  if basis == '' then return true end
  if not text then return basis == '\n' end
  return string.match(text, '^[^\n]*\n([^\n]*\n[^\n]*)\n') == basis
end
