# SPDX-License-Identifier: GPL-2.0
# counter_texts.inc: the counters of the modules and the comments beside them, which are the help that
# rdsctl metrics has of them. A comment stands in one line with its X(name).
# cmake -DHEADERS=PREFIX=FILE,... -DOUT=FILE -P counter_texts.cmake
string(REPLACE "," ";" HEADERS "${HEADERS}")
set(rows "")
foreach(header ${HEADERS})
	string(REGEX MATCH "^([^=]*)=(.*)$" _ "${header}")
	set(prefix "${CMAKE_MATCH_1}")
	file(READ "${CMAKE_MATCH_2}" text)
	# A semicolon and a backslash mean something in CMake's lists.
	string(REPLACE ";" "," text "${text}")
	string(REPLACE "\\" "" text "${text}")
	string(REGEX MATCHALL "\n\tX\\([a-z0-9_]+\\)[^\n]*" lines "${text}")
	foreach(line IN LISTS lines)
		string(REGEX MATCH "X\\(([a-z0-9_]+)\\)([ \t]*/\\* (.*[^ ]) +\\*/)?" _ "${line}")
		set(name "${CMAKE_MATCH_1}")
		string(REPLACE "\"" "'" comment "${CMAKE_MATCH_3}")
		string(APPEND rows "{\"${prefix}${name}\", \"${comment}\"},\n")
	endforeach()
endforeach()
file(WRITE "${OUT}" "${rows}")
