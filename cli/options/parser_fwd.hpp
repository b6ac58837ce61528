#pragma once

/// What headers need of CLI11, which takes seconds to compile.
namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI
