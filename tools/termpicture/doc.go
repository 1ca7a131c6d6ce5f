// Command termpicture draws what a command has printed at a terminal as an SVG.
//
//	termpicture -out FILE -timing FILE [-cols n] [-rows n] [-at 1s,2s | -from text -to text] [-title text] RECORD
//
// It reads a record of script(1), with its timing, and keeps a screen as a terminal
// does. With -at the picture is the screens at those times, shown one after the other.
// Otherwise it is the last screen, or its lines from the first one that holds the text
// of -from to the next one that holds that of -to.
//
// Addresses of masters inside the program differ from run to run. They are drawn as
// 127.0.0.1:7101 and so on, in the order in which they come.
package main
