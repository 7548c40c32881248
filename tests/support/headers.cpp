// The headers that all tests share are compiled with this program, which nobody runs (cmake/HoldfastBuild.cmake).
int main() {}
